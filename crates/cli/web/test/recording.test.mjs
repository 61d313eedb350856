import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { readRecording } from '../src/recording.js';

// made by the program itself: a recording, and the same run as a table of full numbers
const { RECORDING, TABLE, CLUB, BOXES } = process.env;
const skip = RECORDING && TABLE && CLUB && BOXES ? false : 'RECORDING, TABLE, CLUB and BOXES name no files; the Rust tests set them';
const read = (file) => readRecording(new Uint8Array(readFileSync(file)));
const bytes = skip ? null : new Uint8Array(readFileSync(RECORDING));

function table() {
  const [header, ...lines] = readFileSync(TABLE, 'utf8').trim().split('\n');
  const columns = header.split(',');
  return lines.map((line) => Object.fromEntries(line.split(',').map((field, k) => [columns[k], columns[k] === 'body' ? field : Number(field)])));
}

test('a recording has the poses of the run', { skip }, async () => {
  const recording = await readRecording(bytes);
  assert.equal(recording.complete, true);
  const names = recording.description.bodies.map((body) => body.name);
  const rows = table();
  let compared = 0;
  for (let frame = 0; frame < recording.length; frame++) {
    const time = recording.timeOf(frame);
    const state = recording.at(time);
    for (const row of rows.filter((r) => Math.abs(r.time - time) < 1e-9)) {
      const k = names.indexOf(row.body);
      const away = Math.hypot(state.positions[3 * k] - row.x, state.positions[3 * k + 1] - row.y, state.positions[3 * k + 2] - row.z);
      assert.ok(away < 1e-4, `${row.body} at ${time}: ${away} m`);
      const [x, y, z, w] = state.orientations.subarray(4 * k, 4 * k + 4);
      const dot = Math.abs(x * row.qx + y * row.qy + z * row.qz + w * row.qw);
      assert.ok(1 - dot < 1e-6, `${row.body} at ${time}: ${dot}`);
      compared += 1;
    }
  }
  assert.ok(compared >= recording.length, `${compared} rows compared`);
});

test('between frames bodies are between their places', { skip }, async () => {
  const recording = await readRecording(bytes);
  const [t0, t1] = [recording.timeOf(10), recording.timeOf(11)];
  const [a, middle, b] = [t0, 0.5 * (t0 + t1), t1].map((time) => recording.at(time));
  for (let k = 0; k < a.positions.length; k++) {
    assert.ok(Math.abs(middle.positions[k] - 0.5 * (a.positions[k] + b.positions[k])) < 1e-5);
  }
  for (let k = 0; k < middle.orientations.length; k += 4) {
    assert.ok(Math.abs(Math.hypot(...middle.orientations.subarray(k, k + 4)) - 1) < 1e-5);
  }
  assert.equal(recording.at(-5).positions[0], recording.at(recording.start).positions[0]);
  assert.equal(recording.at(1e9).positions[0], recording.at(recording.end).positions[0]);
});

test('a recording that was cut off is read as far as it goes', { skip }, async () => {
  const whole = await readRecording(bytes);
  const cut = await readRecording(bytes.subarray(0, bytes.length - 20));
  assert.equal(cut.complete, false);
  assert.ok(cut.length <= whole.length);
});

test('joints have the angle between their bodies, and forces', { skip }, async () => {
  const recording = await readRecording(bytes);
  assert.equal(recording.hasForces, true);
  const { joints } = recording.description;
  const hinge = joints.findIndex((joint) => joint.kind === 'hinge');
  const multiply = ([aw, ax, ay, az], [bw, bx, by, bz]) => [aw * bw - ax * bx - ay * by - az * bz, aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw];
  const inverse = ([w, x, y, z]) => [w, -x, -y, -z];
  let [largest, turned] = [0, 0];
  for (let frame = 1; frame < recording.length; frame++) {
    const time = recording.timeOf(frame);
    const state = recording.at(time, { joints: [hinge], bodies: [0], reactions: true, contacts: true });
    const numbers = state.joints.get(hinge);
    const side = (body, local) => {
      if (body === null) return local;
      const [x, y, z, w] = state.orientations.subarray(4 * body, 4 * body + 4);
      return multiply([w, x, y, z], local);
    };
    const { a, b, frame_a: onA, frame_b: onB } = joints[hinge];
    const [w, , , z] = multiply(inverse(side(a, onA.orientation)), side(b, onB.orientation));
    const apart = (2 * Math.atan2(z, w) - numbers.coordinates[0].value) / (2 * Math.PI);
    assert.ok(Math.abs(apart - Math.round(apart)) < 1e-3, `at ${time}: ${apart} turns`);
    assert.ok(numbers.errorM < 1e-9);
    numbers.force.forEach((f, k) => assert.ok(Math.abs(f - state.reactions[3 * hinge + k]) <= 1e-6 * Math.abs(f)));
    largest = Math.max(largest, Math.hypot(...numbers.force));
    turned = Math.max(turned, Math.hypot(...state.twists.get(0).angular));
    assert.equal(state.contacts.length, 0, 'nothing collides');
  }
  assert.ok(largest > 1, 'the linkage weighs something');
  assert.ok(turned > 0.1 && turned < 100);
});

test('velocities are those of centres of mass, and do not end with the recording', { skip }, async () => {
  const recording = await read(CLUB);
  const { start, end } = recording;
  // its origin circles with 2.5 m/s around the centre, which goes straight on
  for (const time of [start, start + 0.21, start + 0.217, end - 0.001, end, end + 5]) {
    const { velocities, twists } = recording.at(time, { velocities: true, bodies: [0] });
    [1, 2, 3].forEach((v, k) => assert.ok(Math.abs(velocities[k] - v) < 0.02, `${velocities} m/s at ${time}`));
    const { linear, angular } = twists.get(0);
    assert.ok(Math.abs(angular[2] - 5) < 0.03, `${angular} rad/s at ${time}`);
    assert.ok(Math.abs(Math.hypot(linear[0] - 1, linear[1] - 2) - 2.5) < 0.02, `${linear} m/s of the origin at ${time}`);
  }
  assert.equal(recording.at(end).velocities, null, 'not asked for');
});

test('what slept sleeps in the recording', { skip }, async () => {
  const recording = await read(BOXES);
  assert.equal(recording.hasSleeping, true);
  const asleep = (time) => recording.at(time, { sleeping: true }).sleeping.reduce((sum, on) => sum + on, 0);
  const boxes = recording.description.bodies.filter((body) => body.kind === 'dynamic').length;
  assert.ok(boxes >= 6);
  assert.equal(asleep(recording.start), 0);
  assert.equal(asleep(recording.end), boxes);
  assert.equal(recording.at(recording.end).sleeping, null, 'not asked for');
});

test('a recording of version 1 is shown without forces', { skip }, async () => {
  const pieces = [Uint8Array.of(0x4c, 0x57, 0x52, 1)];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 4; at < bytes.length;) {
    const end = at + 9 + view.getUint32(at + 1, true);
    if (!'JCS'.includes(String.fromCharCode(bytes[at]))) pieces.push(bytes.subarray(at, end));
    at = end;
  }
  const old = await readRecording(new Uint8Array(await new Blob(pieces).arrayBuffer()));
  assert.deepEqual([old.hasForces, old.hasSleeping], [false, false]);
  const state = old.at(0.5, { joints: [0], bodies: [0], reactions: true, contacts: true, sleeping: true });
  assert.deepEqual([state.joints.size, state.reactions, state.contacts.length, state.sleeping], [0, null, 0, null]);
  assert.ok(Number.isFinite(state.positions[0]) && state.twists.get(0).linear.length === 3);
});

test('what is no recording is refused in words', async () => {
  await assert.rejects(readRecording(new Uint8Array(0)), /no recording/);
  await assert.rejects(readRecording(new Uint8Array([0x4c, 0x57, 0x52, 9])), /version 9/);
  await assert.rejects(readRecording(new Uint8Array([0x4c, 0x57, 0x52, 1])), /no description/);
});

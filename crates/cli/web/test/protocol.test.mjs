import assert from 'node:assert/strict';
import test from 'node:test';
import { CONTACT_NUMBERS, bits, decodeFrame } from '../src/protocol.js';
import { unpackOrientation } from '../src/quantised.js';

const STEPS = 32767;

/** The packing of crates/io/src/recording/quantise.rs, written a second time. */
function pack(q) {
  let largest = 0;
  for (let k = 1; k < 4; k++) if (Math.abs(q[k]) > Math.abs(q[largest])) largest = k;
  const sign = q[largest] < 0 ? -1 : 1;
  const words = [0, 1, 2, 3].filter((k) => k !== largest).map((k) => Math.round(((sign * q[k]) / Math.SQRT2 + 0.5) * STEPS));
  words[0] |= (largest & 1) << 15;
  words[1] |= (largest >> 1) << 15;
  return words;
}

function frameOf({ bodies = 2, sections = [] } = {}) {
  const size = 72 + sections.reduce((sum, [, content]) => sum + 8 + ((content.byteLength + 3) & ~3), 0);
  const buffer = new ArrayBuffer(size);
  const view = new DataView(buffer);
  view.setUint8(0, 0x4c);
  view.setUint8(1, 2);
  view.setUint16(2, 1, true);
  view.setUint32(4, 7, true);
  view.setUint32(8, 3, true);
  view.setUint32(12, bodies, true);
  view.setFloat64(16, 1.25, true);
  view.setFloat64(24, 75, true);
  for (let k = 0; k < 9; k++) view.setFloat32(32 + 4 * k, k + 0.5, true);
  view.setFloat32(68, 0.99, true);
  let at = 72;
  for (const [kind, content] of sections) {
    view.setUint32(at, kind, true);
    view.setUint32(at + 4, content.byteLength, true);
    new Uint8Array(buffer, at + 8, content.byteLength).set(new Uint8Array(content));
    at += 8 + ((content.byteLength + 3) & ~3);
  }
  return buffer;
}

function poses(positions, orientations) {
  const bytes = new ArrayBuffer(positions.length * 18);
  new Float32Array(bytes, 0, 3 * positions.length).set(positions.flat());
  new Uint16Array(bytes, 12 * positions.length).set(orientations.flatMap(pack));
  return bytes;
}

const half = Math.SQRT1_2;
const two = poses([[1, 2, 3], [4, 5, 6]], [[0, 0, 0, 1], [half, 0, 0, -half]]);

test('orientations come back', () => {
  let worst = 0;
  for (let k = 0; k < 5000; k++) {
    const q = [1, 2, 3, 4].map((n) => Math.sin(k * 12.9898 * n + n));
    const length = Math.hypot(...q);
    const unit = q.map((c) => c / length);
    const out = new Float32Array(4);
    unpackOrientation(...pack(unit), out, 0);
    const dot = Math.abs(unit.reduce((sum, c, i) => sum + c * out[i], 0));
    worst = Math.max(worst, 2 * Math.acos(Math.min(1, dot)));
  }
  assert.ok(worst < 1e-3, `${worst} rad`); // of 32-bit floats and acos near one; the packing itself is ten times better
});

test('a frame is decoded', () => {
  const frame = decodeFrame(frameOf({ sections: [[1, two]] }));
  assert.equal(frame.playing, true);
  assert.equal(frame.failed, false);
  assert.deepEqual([frame.scene, frame.revision, frame.count, frame.time, frame.steps], [7, 3, 2, 1.25, 75]);
  assert.equal(frame.stats.kinetic, 0.5);
  assert.equal(frame.stats.contact_iterations, 8.5);
  assert.deepEqual([...frame.positions], [1, 2, 3, 4, 5, 6]);
  assert.ok(Math.abs(frame.orientations[3] - 1) < 1e-4);
  // q and -q are the same orientation
  assert.ok(Math.abs(frame.orientations[4] + frame.orientations[7]) < 1e-4);
});

/** A unit, and vectors in so many of it. */
function vectorsOf(unit, words) {
  const bytes = new ArrayBuffer(4 + 2 * words.length);
  new DataView(bytes).setFloat32(0, unit, true);
  new Int16Array(bytes, 4).set(words);
  return bytes;
}

/** Contacts in a box from (1, -1, 3) to (11, -1, 3.0004), with forces in halves of a newton; `all` says how many there were. */
function contactsOf(all, contacts) {
  const bytes = new ArrayBuffer(36 + 12 * contacts.length);
  const view = new DataView(bytes);
  [all, contacts.length].forEach((x, k) => view.setUint32(4 * k, x, true));
  [1, -1, 3, 10, 0, 0.0004, 0.5].forEach((x, k) => view.setFloat32(8 + 4 * k, x, true));
  contacts.forEach(([x, y, z, nu, nv, fu, fv, strength], k) => {
    const at = 36 + 12 * k;
    [x, y, z].forEach((word, i) => view.setUint16(at + 2 * i, word, true));
    [nu, nv, fu, fv].forEach((byte, i) => view.setInt8(at + 6 + i, byte));
    view.setUint16(at + 10, strength, true);
  });
  return bytes;
}

test('sleeping bodies are bits', () => {
  assert.deepEqual([...bits(Uint8Array.of(0b10000001, 0b10), 10)], [1, 0, 0, 0, 0, 0, 0, 1, 0, 1]);
  const asleep = decodeFrame(frameOf({ sections: [[1, two], [8, Uint8Array.of(0b10).buffer]] }));
  assert.deepEqual([...asleep.sleeping], [0, 1]);
  assert.equal(decodeFrame(frameOf({ sections: [[1, two], [8, new ArrayBuffer(2)]] })), null);
});

test('all sections are decoded, and unknown ones are skipped', () => {
  const joint = new ArrayBuffer(4 * 16);
  const numbers = new DataView(joint);
  numbers.setUint32(0, 5, true);
  numbers.setUint32(4, 1, true);
  for (let k = 2; k < 16; k++) numbers.setFloat32(4 * k, k, true);
  const body = new ArrayBuffer(28);
  new DataView(body).setUint32(0, 1, true);
  new Float32Array(body, 4).set([1, 2, 3, 4, 5, 6]);
  const sections = [[1, two], [99, new ArrayBuffer(5)], [2, vectorsOf(0.5, [1, -2, 3, 4, 5, 32767])], [3, vectorsOf(2, [1, 2, 3])], [4, contactsOf(9, [[65535, 0, 32768, 0, 0, 127, 0, 65535], [0, 0, 0, -127, -127, 0, -64, 100]])], [5, joint], [6, body]];
  const frame = decodeFrame(frameOf({ sections }));
  assert.deepEqual([...frame.velocities], [0.5, -1, 1.5, 2, 2.5, 16383.5]);
  assert.deepEqual([...frame.reactions], [2, 4, 6]);
  assert.equal(frame.contactsInAll, 9);
  assert.equal(frame.contacts.length, 2 * CONTACT_NUMBERS);
  const near = (from, wanted) => wanted.forEach((x, k) => assert.ok(Math.abs(frame.contacts[from + k] - x) < 1e-3 * Math.max(1, Math.abs(x)), `${frame.contacts[from + k]} instead of ${x}`));
  near(0, [11, -1, 3.0002, 0, 0, 1, 65535 * 0.5, 0, 0]);
  // a corner of the square is straight down; the second force is between -y and z
  near(CONTACT_NUMBERS, [1, -1, 3, 0, 0, -1]);
  assert.ok(frame.contacts[CONTACT_NUMBERS + 7] < -30 && frame.contacts[CONTACT_NUMBERS + 8] > 30);
  assert.ok(Math.abs(Math.hypot(...frame.contacts.subarray(CONTACT_NUMBERS + 6, CONTACT_NUMBERS + 9)) - 50) < 1e-3);
  const watched = frame.joints.get(5);
  assert.deepEqual([watched.errorM, watched.errorRad, watched.force, watched.torque, watched.unique], [2, 3, [4, 5, 6], [7, 8, 9], true]);
  assert.deepEqual(watched.coordinates, [{ value: 11, velocity: 12, limit: 13, friction: 14, motor: 15 }]);
  assert.deepEqual(frame.twists.get(1), { linear: [1, 2, 3], angular: [4, 5, 6] });
});

test('what is no frame is refused', () => {
  assert.equal(decodeFrame(new ArrayBuffer(0)), null);
  assert.equal(decodeFrame(new ArrayBuffer(500)), null);
  assert.equal(decodeFrame(frameOf()), null); // no poses
  assert.equal(decodeFrame(frameOf({ bodies: 3, sections: [[1, two]] })), null);
  const whole = frameOf({ sections: [[1, two], [2, vectorsOf(1, [1, 2, 3, 4, 5, 6])]] });
  assert.equal(decodeFrame(frameOf({ sections: [[1, two], [2, vectorsOf(1, [1, 2, 3])]] })), null); // of one body only
  const cut = contactsOf(9, [[1, 2, 3, 4, 5, 6, 7, 8]]).slice(0, 44);
  for (const wrong of [cut, new ArrayBuffer(8)]) assert.equal(decodeFrame(frameOf({ sections: [[1, two], [4, wrong]] })), null);
  for (let length = 0; length < whole.byteLength; length++) {
    const cut = decodeFrame(whole.slice(0, length));
    assert.ok(cut === null || cut.positions.length === 6);
  }
});

test('particles of all systems come in one piece', () => {
  const points = new Float32Array([1, 2, 3, 4, 5, 6]).buffer;
  const frame = decodeFrame(frameOf({ sections: [[1, two], [7, points]] }));
  assert.deepEqual([...frame.points], [1, 2, 3, 4, 5, 6]);
  assert.equal(decodeFrame(frameOf({ sections: [[1, two], [7, new ArrayBuffer(8)]] })), null);
});

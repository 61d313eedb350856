// The page in a real browser, thing by thing; what it is given is said in harness.mjs.

import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { ADDRESS, REPLAY, assertSeen, choose, close, drawn, drop, eventually, moved, onScreen, open, picture, settled, shot, standsStill, state, status } from './harness.mjs';

// ---- a running simulation
const page = await open(ADDRESS);
const first = await state(page);
await page.waitForFunction((time) => window.linkwork.view.frame.time > time + 0.1, first.time);
assert.ok(moved(first, await state(page)), 'bodies move');
assertSeen(await drawn(page), 'double-pendulum');
await shot(page, 'live');

await page.click('#play');
await page.waitForFunction(() => window.linkwork.status.playing === false && window.linkwork.view.frame.playing === false);
const still = await state(page);
await page.waitForTimeout(300);
assert.deepEqual(await state(page), still, 'pause stops time');
await page.click('#step');
await page.waitForFunction((steps) => window.linkwork.view.frame.steps === steps + 1, still.steps);
await page.keyboard.press('.');
await page.waitForFunction((steps) => window.linkwork.view.frame.steps === steps + 2, still.steps);

// ---- the mouse: a click selects, dragging moves the body
await page.click('#reset');
await page.waitForFunction(() => window.linkwork.view.frame.steps === 0);
await page.click('#home');
const body = await page.evaluate(() => window.linkwork.view.description.bodies.length - 1);
const at = await onScreen(page, body);
await page.mouse.click(at.x, at.y);
await page.waitForFunction((k) => window.linkwork.view.selected.body === k, body);
await page.waitForFunction(() => document.getElementById('inspector').textContent.includes('kg'));
await page.fill('#gravity', '0');
await page.dispatchEvent('#gravity', 'change');
await page.waitForFunction(() => window.linkwork.status.gravity[2] === 0);
const before = await state(page);
await page.click('#play');
await page.mouse.move(at.x, at.y);
await page.mouse.down();
await page.mouse.move(at.x - 60, at.y - 80, { steps: 6 });
await page.waitForFunction((p) => { const f = window.linkwork.view.frame; const k = f.positions.length - 1; return f.positions[k] > p + 0.05; }, before.positions.at(-1));
await shot(page, 'dragging');
await page.mouse.up();
assert.equal(await page.evaluate(() => window.linkwork.view.overlays.grip), null);

// ---- another scene, another parameter
await page.selectOption('#scenes', 'scissor-lift');
await page.waitForFunction(() => window.linkwork.view.description.name === 'scissor-lift' && window.linkwork.view.frame);
const bodies = await page.evaluate(() => window.linkwork.view.description.bodies.length);
await page.fill('#parameter-pairs', '4');
await page.dispatchEvent('#parameter-pairs', 'change');
await page.waitForFunction((n) => window.linkwork.view.description.bodies.length < n && window.linkwork.view.frame, bodies);
await page.fill('#parameter-pairs', '-3');
await page.dispatchEvent('#parameter-pairs', 'change');
await page.waitForSelector('.notice.error');

// ---- a scene file is dropped; a wrong one is explained and changes nothing
const FILE = `name = "dropped"
[[bodies]]
name = "ground"
kind = "static"
shapes = [{ geometry = "plane" }]
[[bodies]]
name = "bracket"
position = [0, 0, 0.5]
shapes = [{ geometry = { mesh = { vertices = [[0,0,0],[2,0,0],[2,1,0],[1,1,0],[1,2,0],[0,2,0],[0,0,1],[2,0,1],[2,1,1],[1,1,1],[1,2,1],[0,2,1]], triangles = [[0,2,1],[0,3,2],[0,5,3],[3,5,4],[6,7,8],[6,8,9],[6,9,11],[9,10,11],[0,1,7],[0,7,6],[1,2,8],[1,8,7],[2,3,9],[2,9,8],[3,4,10],[3,10,9],[4,5,11],[4,11,10],[5,0,6],[5,6,11]] } } }]
[[bodies]]
name = "cart"
position = [-3, 0, 0.6]
mass = 5
shapes = [{ geometry = { box = { size = [0.6, 0.4, 0.3] } } }]
[[joints]]
name = "rail"
type = "slider"
a = "world"
b = "cart"
at = [-3, 0, 0.6]
axis = [1, 0, 0]
[[joints.coordinates]]
of = "displacement"
limit = { min = -2, max = 2 }
motor = { servo = { target = 0, stiffness = 500, damping = 100 } }
`;
await drop(page, 'dropped.toml', FILE);
await page.waitForFunction(() => window.linkwork.view.description.name === 'dropped');
await settled(page);
assert.equal(await page.inputValue('#scenes'), '', 'a file is none of the scenes');
await drop(page, 'wrong.toml', FILE.replace('mass = 5', 'mass = -5'));
await page.waitForFunction(() => [...document.querySelectorAll('.notice.error')].some((n) => /wrong\.toml:\d+:\d+/.test(n.textContent) && n.textContent.includes('mass')));
await drop(page, 'picture.jpg', 'no scene');
await page.waitForFunction(() => [...document.querySelectorAll('.notice.error')].some((n) => n.textContent.includes('picture.jpg')));
assert.equal(await page.evaluate(() => window.linkwork.view.description.name), 'dropped');
/** A click puts a notice away. */
const clear = async () => { while (await page.locator('.notice').count()) await page.locator('.notice').first().click(); };
await clear();
await page.waitForFunction(() => window.linkwork.view.frame.time > 1);
await shot(page, 'dropped');

// ---- what the engine collides with, and contacts with their forces
await page.selectOption('#style', 'hulls');
await page.waitForFunction(() => window.linkwork.view.pieces?.meshes.length > 0);
const pieces = await page.evaluate(() => window.linkwork.view.pieces.meshes.flatMap((mesh) => [...mesh.userData.owner]).filter((owner) => owner === 1).length);
assert.ok(pieces > 1, `an angle is not convex, but collides as ${pieces} piece`);
await shot(page, 'hulls');
await page.selectOption('#style', 'solid');
assert.equal(await page.evaluate(() => window.linkwork.view.pieces), null);
await page.click('#toggle-contacts');
await page.waitForFunction(() => window.linkwork.view.frame.contacts?.length >= 36, null);
const weight = await page.evaluate(() => {
  const { frame, description } = window.linkwork.view;
  // forces are those on one of the two, whichever that is
  let up = 0;
  for (let k = 0; k < frame.contacts.length; k += 12) up += frame.contacts[k + 8];
  return Math.abs(up) / (description.bodies[1].mass * 9.81);
});
assert.ok(Math.abs(weight - 1) < 0.02, `the ground carries ${weight} of the weight`);
const dots = () => page.evaluate(() => { const { contactDots: { object } } = window.linkwork.view.overlays; return object.visible ? object.geometry.drawRange.count : 0; });
await page.waitForFunction(() => { const { frame, overlays } = window.linkwork.view; return overlays.contactDots.object.visible && overlays.contactDots.object.geometry.drawRange.count === frame.contacts.length / 12; });
await shot(page, 'contacts');
await page.click('#toggle-contacts');
await page.waitForFunction(() => !window.linkwork.view.overlays.contactDots.object.visible);
assert.equal(await dots(), 0);

// ---- a servo follows its slider, and the number beside it
await page.evaluate(() => window.linkwork.view.selectJoint(window.linkwork.view.description.joints.findIndex((joint) => joint.name === 'rail')));
const slider = page.locator('#inspector .motor input[type="range"]');
await slider.evaluate((element) => { element.value = '1.5'; element.dispatchEvent(new Event('input', { bubbles: true })); });
await page.waitForFunction(() => Math.abs([...window.linkwork.view.frame.joints.values()][0]?.coordinates[0].value - 1.5) < 0.02);
await page.fill('#inspector .motor input[type="number"]', '-1');
await page.dispatchEvent('#inspector .motor input[type="number"]', 'change');
await page.waitForFunction(() => Math.abs([...window.linkwork.view.frame.joints.values()][0]?.coordinates[0].value + 1) < 0.02);
await status(page, (s) => s.motors.length === 1 && s.motors[0].motor.servo.target === -1);
await shot(page, 'servo');

// ---- step size, method, tolerance, gravity: what makes sense is taken over, what does not is marked
const put = async (id, text) => { await page.fill(`#${id}`, text); await page.dispatchEvent(`#${id}`, 'change'); };
await put('dt', '1/120');
await status(page, (s) => Math.abs(s.dt - 1 / 120) < 1e-12);
await put('dt', 'soon');
assert.ok(await page.evaluate(() => document.getElementById('dt').classList.contains('wrong')));
await put('dt', '1/60');
assert.ok(!(await page.evaluate(() => document.getElementById('dt').classList.contains('wrong'))));
await put('tolerance', '1e-6');
await status(page, (s) => s.tolerance === 1e-6);
await put('tolerance', '');
await status(page, (s) => s.tolerance === null);
await put('gravity', '0 0 -1.62');
await status(page, (s) => s.gravity[2] === -1.62);
const choices = { method: ['direct', 'reduced', 'iterative'], stepper: ['fixed', 'events'], contact: ['newton', 'dantzig', 'lemke', 'pgs'] };
for (const [id, names] of Object.entries(choices)) {
  assert.deepEqual(await page.locator(`#${id} option`).allTextContents(), names, `${id}: what run has`);
  for (const name of [...names].reverse()) {
    await page.selectOption(`#${id}`, name);
    await status(page, (s) => s[id] === name);
  }
}
for (const id of ['sleep', 'shock']) {
  for (const on of [true, false]) {
    await page.selectOption(`#${id}`, String(on));
    await status(page, (s) => s[id] === on);
  }
}

// ---- nails: shift and click, N at the cursor, the button of the inspector; released by button and by key
await choose(page, 'double-pendulum');
await page.evaluate(() => window.linkwork.connection.send({ type: 'play', on: false }));
await page.click('#reset');
await page.waitForFunction(() => window.linkwork.view.frame.steps === 0 && !window.linkwork.status.playing);
await page.click('#home');
await clear();
const last = await page.evaluate(() => window.linkwork.view.description.bodies.length - 1);
const tip = await onScreen(page, last);
const nails = (count) => page.waitForFunction((n) => window.linkwork.view.description.nails.length === n, count);
await page.keyboard.down('Shift');
await page.mouse.click(tip.x, tip.y);
await page.keyboard.up('Shift');
await nails(1);
await page.click('#play');
const nailed = await state(page);
await page.waitForFunction((time) => window.linkwork.view.frame.time > time + 0.5, nailed.time);
const held = await state(page);
assert.ok(Math.hypot(...[0, 1, 2].map((k) => held.positions[3 * last + k] - nailed.positions[3 * last + k])) < 0.2, 'a nailed body stays');
await shot(page, 'nailed');
await page.click('#pull-nails');
await nails(0);
await page.waitForFunction(([k, z]) => window.linkwork.view.frame.positions[3 * k + 2] < z - 0.3, [last, nailed.positions[3 * last + 2]]);
await page.click('#play');
await standsStill(page);
// wherever it has swung by now
await page.click('#home');
await clear();
const there = await onScreen(page, last);
await page.mouse.move(there.x, there.y);
await page.keyboard.press('n');
await nails(1);
await page.keyboard.press('u');
await nails(0);
await page.evaluate((k) => window.linkwork.view.select(k), last);
await page.click('#inspector button:has-text("Nail")');
await nails(1);
await page.click('#inspector button:has-text("Pull nails")');
await nails(0);
await page.click('#play');

// ---- particles: made under the cursor and hung on a marked one, attached to another
await choose(page, 'tinkertoys');
await page.evaluate(() => window.linkwork.connection.send({ type: 'play', on: false }));
await page.click('#reset');
await page.waitForFunction(() => window.linkwork.view.frame.steps === 0 && !window.linkwork.status.playing);
await page.click('#home');
await clear();
const systems = () => page.evaluate(() => window.linkwork.view.description.particles.map((system) => [system.count, system.lines.length]));
const atParticle = (particle) => page.evaluate((k) => {
  const { frame, stage } = window.linkwork.view;
  const at = stage.center.clone().fromArray(frame.points, 3 * k).project(stage.camera);
  const box = stage.canvas.getBoundingClientRect();
  return { x: box.left + ((at.x + 1) / 2) * box.width, y: box.top + ((1 - at.y) / 2) * box.height };
}, particle);
const [[count, lines]] = await systems();
const end = await atParticle(count - 1);
await page.mouse.move(end.x, end.y);
await page.keyboard.press('a');
const marked = await page.evaluate(() => window.linkwork.view.pointer.marked);
assert.deepEqual(marked, [0, count - 1], 'a particle is marked');
await page.mouse.move(end.x + 40, end.y + 40);
await page.keyboard.press('b');
const grown = (n, m) => page.waitForFunction(([a, b]) => {
  const [system] = window.linkwork.view.description.particles;
  return system.count === a && system.lines.length === b;
}, [n, m]);
await grown(count + 1, lines + 1);
await page.waitForFunction(() => {
  const { frame, description } = window.linkwork.view;
  return frame.points.length === 3 * description.particles.reduce((sum, system) => sum + system.count, 0);
});
const made = await atParticle(count);
assert.ok(Math.hypot(made.x - end.x - 40, made.y - end.y - 40) < 12, 'it is where the cursor was');
await page.mouse.move(made.x, made.y);
await page.keyboard.press('a');
const other = await atParticle(Math.floor(count / 2));
await page.mouse.move(other.x, other.y);
await page.keyboard.press('a');
await grown(count + 1, lines + 2);
await shot(page, 'made');
// shift and click nails a particle, and the key that pulls all nails lets go of it
const shaken = await atParticle(count - 3);
await page.keyboard.down('Shift');
await page.mouse.click(shaken.x, shaken.y);
await page.keyboard.up('Shift');
const nailedParticles = (n) => page.waitForFunction((k) => window.linkwork.view.description.nailed_particles.length === k, n);
await nailedParticles(1);
await page.waitForFunction(() => window.linkwork.view.overlays.nailDots.object.visible);
assert.ok(await page.isEnabled('#pull-nails'));
await shot(page, 'nailed-particle');
await page.keyboard.press('u');
await nailedParticles(0);
await page.click('#reset');
await grown(count, lines);

// ---- a new scene fills the picture, and nothing jumps later: the cradle's grid did, because bars that are long were taken for far away
for (const name of ['cradle', 'excavator', 'walker']) {
  await choose(page, name);
  await page.click('#home');
  const room = await page.evaluate(() => {
    const { stage, bodies } = window.linkwork.view;
    const corners = bodies.corners();
    const [low, high] = [[1, 1], [-1, -1]];
    for (let k = 0; k < corners.length; k += 3) {
      stage.center.clone().fromArray(corners, k).project(stage.camera).toArray().slice(0, 2).forEach((x, i) => { low[i] = Math.min(low[i], x); high[i] = Math.max(high[i], x); });
    }
    return { low, high };
  });
  assert.ok(Math.min(...room.low) > -1 && Math.max(...room.high) < 1, `${name} is cut off: ${JSON.stringify(room)}`);
  assert.ok(Math.max(room.high[0] - room.low[0], room.high[1] - room.low[1]) > 1.2, `${name} is small: ${JSON.stringify(room)}`);
  const grid = () => page.evaluate(() => { const { stage } = window.linkwork.view; return [stage.floor.uniforms.cell.value, stage.radius, ...stage.center.toArray()]; });
  const laid = await grid();
  await page.click('#play');
  await page.waitForFunction((frames) => window.linkwork.view.metrics.frames > frames + 26, await page.evaluate(() => window.linkwork.view.metrics.frames));
  assert.deepEqual(await grid(), laid, `${name}: the floor stays as it is`);
  await page.click('#play');
  await standsStill(page);
}

// ---- everything that can be switched is switched, and changes the picture
await choose(page, 'scissor-lift');
// time stands from what came before: some steps, so that there are reactions, and then no more, or pictures differ by themselves
await page.click('#play');
await status(page, (s) => s.playing);
await page.waitForFunction(() => window.linkwork.view.frame.steps > 3);
await page.click('#play');
await standsStill(page);
const lineCount = () => page.evaluate(() => window.linkwork.view.overlays.lines.count);
for (const key of ['joints', 'frames', 'reactions', 'shadows']) {
  await page.waitForTimeout(100);
  const [before, count] = [await picture(page), await lineCount()];
  await page.click(`#toggle-${key}`);
  await eventually(async () => {
    assert.ok((await picture(page)) !== before, `${key} changes the picture`);
    assert.ok(key === 'shadows' || (await lineCount()) > count, `${key} are lines`);
  });
}
for (const style of ['wireframe', 'x-ray', 'hulls', 'solid']) {
  const before = await picture(page);
  await page.selectOption('#style', style);
  await eventually(async () => assert.ok((await picture(page)) !== before, `${style} changes the picture`));
}
assert.ok((await page.textContent('#notices')).includes('Nothing collides'), 'a scene without collisions says so');
await page.selectOption('#speed', 'null');
await status(page, (s) => s.speed === null);
await page.keyboard.press('[');
await status(page, (s) => s.speed === 8);
await page.evaluate(() => window.linkwork.view.selectJoint(0));
await page.waitForFunction(() => window.linkwork.view.frame.joints.size === 1);
await page.keyboard.press('?');
assert.ok(await page.isVisible('#help-dialog'));
for (const words of ['shift + click', 'nails the point', 'reaction forces', 'pulls it with a spring']) {
  assert.ok((await page.textContent('#help-dialog')).includes(words), words);
}
assert.equal(await page.evaluate(() => document.getElementById('help-dialog').scrollTop), 0, 'help begins at its beginning');
await shot(page, 'help');
await page.keyboard.press('Escape');
assert.ok(!(await page.isVisible('#help-dialog')));
const theme = await page.evaluate(() => document.documentElement.dataset.theme);
await page.keyboard.press('l');
assert.notEqual(await page.evaluate(() => document.documentElement.dataset.theme), theme);
await shot(page, 'toggles');

// ---- a telephone
await page.click('#play');
await status(page, (s) => s.playing);
const phone = await open(ADDRESS, { viewport: { width: 360, height: 640 }, hasTouch: true, colorScheme: 'dark' });
assert.ok(!(await phone.isVisible('#left')), 'panels are away at first');
await phone.click('#open-left');
await phone.waitForSelector('#scenes', { state: 'visible' });
await shot(phone, 'phone-left');
await phone.selectOption('#speed-too', '0.25');
await status(phone, (s) => s.speed === 0.25);
await phone.click('#open-right');
await phone.waitForSelector('#inspector', { state: 'visible' });
await phone.waitForTimeout(400);
assert.ok(!(await phone.isVisible('#scenes')), 'one panel at a time');
await shot(phone, 'phone-right');
await phone.click('#open-right');
await phone.waitForTimeout(400);
const wide = await phone.evaluate(() => [...document.querySelectorAll('#bar > *, #bar button')].filter((e) => e.offsetParent && e.getBoundingClientRect().right > 360).map((e) => e.id || e.className));
assert.deepEqual(wide, [], 'every button of the bar is within reach');
await phone.tap('#play');
await status(phone, (s) => !s.playing);
await shot(phone, 'phone');
assert.equal(await phone.evaluate(() => document.documentElement.scrollWidth <= 360), true);
await phone.close();
await page.close();

// ---- a replay from a file, without a server
const replay = await open(pathToFileURL(REPLAY).href);
await replay.waitForFunction(() => window.linkwork.time > 0.3);
await replay.evaluate(() => window.linkwork.play(false));
const middle = await state(replay);
await replay.fill('#time', '0').catch(() => replay.evaluate(() => { const slider = document.getElementById('time'); slider.value = 0; slider.oninput(); }));
await replay.waitForFunction(() => window.linkwork.view.frame.time === 0);
assert.ok(moved(middle, await state(replay)), 'the slider moves bodies');
assertSeen(await drawn(replay), 'replay');
await replay.evaluate(() => { window.linkwork.seek(0.5); window.linkwork.view.selectJoint(1); });
await replay.waitForFunction(() => [...window.linkwork.view.frame.joints.values()][0]?.coordinates.length > 0);
assert.match(await replay.textContent('#inspector'), /force on b/);
assert.match(await replay.textContent('#inspector'), /rad\/s/);
for (const key of ['reactions', 'contacts', 'velocities', 'joints', 'sleeping']) {
  assert.ok(await replay.isEnabled(`#toggle-${key}`), `${key} can be shown`);
  await replay.click(`#toggle-${key}`);
}
await replay.waitForFunction(() => { const { frame } = window.linkwork.view; return frame.reactions?.some((f) => Math.abs(f) > 1) && frame.contacts && frame.sleeping?.every((on) => on === 0); });
// the last frame moves as the others do
await replay.evaluate(() => window.linkwork.seek(window.linkwork.recording.end));
await replay.waitForFunction(() => window.linkwork.view.frame.time === window.linkwork.recording.end);
assert.ok(await replay.evaluate(() => window.linkwork.view.frame.velocities.some((v) => Math.abs(v) > 0.1)), 'velocities in the last frame');
await replay.evaluate(() => window.linkwork.seek(0.5));
// charts have a line for the whole run, and the time that is shown is marked
const chart = () => replay.evaluate(() => document.querySelector('#charts canvas').toDataURL());
await replay.waitForTimeout(600);
const early = await chart();
await replay.evaluate(() => window.linkwork.seek(0.9));
await eventually(async () => assert.ok((await chart()) !== early, 'the cursor of the charts goes along'));
await replay.evaluate(() => window.linkwork.view.select(0));
await replay.waitForFunction(() => document.getElementById('inspector').textContent.includes('angular'));
const download = replay.waitForEvent('download');
await replay.click('#shot');
assert.match((await download).suggestedFilename(), /\.png$/);
await shot(replay, 'replay');

// the browser itself notes the two files that were refused
await close([['422', 2]]);
console.log('the page works');

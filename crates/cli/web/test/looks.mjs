// What a page shows and how it is looked at, in a real browser: arrows, colours, sleepers, camera, charts, warnings, a finger, a server that comes back.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { ADDRESS, PROGRAM, assertSeen, build, choose, close, drawn, eventually, onScreen, open, picture, send, shot, standsStill, state, status, steps } from './harness.mjs';

const page = await open(ADDRESS);
const view = (read) => page.evaluate(read);
const apart = (a, b) => Math.hypot(...a.map((x, k) => x - b[k]));

// ---- velocities: an arrow from the centre of mass of what moves, along its velocity
await build(page, 'top', { spin: 30, tilt: 40 });
await steps(page, 10);
const before = await picture(page);
await page.click('#toggle-velocities');
await page.waitForFunction(() => window.linkwork.view.frame.velocities && window.linkwork.view.overlays.lines.count > 0);
assert.ok((await picture(page)) !== before, 'velocities change the picture');
const arrow = await view(() => {
  const { frame, overlays: { lines }, pointer, stage, bodies } = window.linkwork.view;
  const k = frame.count - 1;
  const numbers = [...lines.numbers.subarray(0, 6)];
  return { from: numbers.slice(0, 3), along: numbers.slice(3, 6).map((x, i) => x - numbers[i]), centre: pointer.fromBody(frame, k, stage.center.clone().set(...bodies.bodies[k].center)).toArray(), velocity: [...frame.velocities.subarray(3 * k, 3 * k + 3)] };
});
assert.ok(apart(arrow.from, arrow.centre) < 1e-5, `it begins at ${arrow.from} and not at ${arrow.centre}`);
const [long, fast] = [Math.hypot(...arrow.along), Math.hypot(...arrow.velocity)];
assert.ok(fast > 1e-3 && apart(arrow.along.map((x) => x / long), arrow.velocity.map((x) => x / fast)) < 1e-3, JSON.stringify(arrow));
await page.click('#toggle-velocities');
await page.waitForFunction(() => window.linkwork.view.overlays.lines.count === 0 && window.linkwork.view.frame.velocities === null);

// ---- colours: one for every mechanism, others for bodies
await build(page, 'spider', { legs: 4 });
const colours = () => view(() => {
  const { bodies } = window.linkwork.view;
  return bodies.meshes.flatMap((mesh) => [...mesh.userData.owner].map((body, k) => [bodies.bodies[body].mechanism, [...mesh.instanceColor.array.subarray(3 * k, 3 * k + 3)].map((c) => c.toFixed(3)).join(' ')])).filter(([mechanism]) => mechanism !== null);
});
const byBody = await colours();
assert.ok(new Set(byBody.map(([, colour]) => colour)).size > 3);
await page.selectOption('#colouring', 'mechanisms');
assert.equal(new Set((await colours()).map(([, colour]) => colour)).size, 1, 'a spider is one mechanism');
await build(page, 'skeletons', { skeletons: 3 });
const each = new Map();
for (const [mechanism, colour] of await colours()) each.set(mechanism, (each.get(mechanism) ?? new Set()).add(colour));
assert.ok(each.size >= 3 && [...each.values()].every((set) => set.size === 1), 'each mechanism has a colour');
assert.equal(new Set([...each.values()].map((set) => [...set][0])).size, each.size, 'and no other has it');
await shot(page, 'mechanisms');
await page.selectOption('#colouring', 'bodies');

// ---- what sleeps loses its colour, and gets it back
await page.selectOption('#sleep', 'true');
await status(page, (s) => s.sleep);
await build(page, 'pyramid', { base: 4 });
const awake = JSON.stringify(await colours());
await page.click('#toggle-sleeping');
await send(page, { type: 'speed', value: null });
await send(page, { type: 'play', on: true });
await page.waitForFunction(() => { const { frame, description } = window.linkwork.view; return frame.sleeping && description.bodies.every((body, k) => body.kind !== 'dynamic' || frame.sleeping[k]); });
await eventually(async () => assert.equal(new Set((await colours()).map(([, colour]) => colour)).size, 1, 'all that sleeps looks alike'));
await shot(page, 'sleeping');
await page.click('#toggle-sleeping');
await page.waitForFunction(() => window.linkwork.view.frame.sleeping === null);
await eventually(async () => assert.equal(JSON.stringify(await colours()), awake));
await page.selectOption('#sleep', 'false');
await send(page, { type: 'speed', value: 1 });
await send(page, { type: 'play', on: false });

// ---- the camera: turned, moved, brought nearer; follows a body
await standsStill(page);
await page.click('#home');
const camera = () => view(() => { const { stage: { camera, controls } } = window.linkwork.view; return { eye: camera.position.toArray(), target: controls.target.toArray() }; });
const distance = ({ eye, target }) => apart(eye, target);
/** Drags over the floor, where nothing is. */
const dragEmpty = async (button) => {
  const box = await page.locator('#canvas').boundingBox();
  await page.mouse.move(box.x + 30, box.y + box.height - 40);
  await page.mouse.down({ button });
  await page.mouse.move(box.x + 130, box.y + box.height - 80, { steps: 5 });
  await page.mouse.up({ button });
  await page.waitForTimeout(150);
};
const home = await camera();
await dragEmpty('left');
const turned = await camera();
assert.ok(apart(turned.eye, home.eye) > 0.1 * distance(home), 'turned');
assert.ok(apart(turned.target, home.target) < 1e-3 * distance(home) && Math.abs(distance(turned) / distance(home) - 1) < 1e-3, 'around what is looked at');
assert.equal(await view(() => window.linkwork.view.selected.body), null);
await dragEmpty('right');
const shifted = await camera();
assert.ok(apart(shifted.target, turned.target) > 0.05 * distance(home), 'moved');
const box = await page.locator('#canvas').boundingBox();
await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
await page.mouse.wheel(0, -600);
await page.waitForTimeout(150);
assert.ok(distance(await camera()) < 0.8 * distance(shifted), 'nearer');
await page.click('#home');
assert.ok(apart((await camera()).eye, home.eye) < 0.05 * distance(home), 'the whole scene again');

await build(page, 'car', { ground: 1, held: 0, speed: 20 });
const chassis = await view(() => { const { bodies } = window.linkwork.view.description; return bodies.reduce((best, body, k) => ((body.mass ?? 0) > (bodies[best].mass ?? 0) ? k : best), 0); });
const followable = await onScreen(page, chassis);
await page.mouse.dblclick(followable.x, followable.y);
await page.waitForFunction(() => window.linkwork.view.followed !== null);
const followed = await view(() => window.linkwork.view.followed);
// both at once: frames come between two questions
const offset = () => view(() => { const { followed: k, frame, stage } = window.linkwork.view; return stage.controls.target.toArray().map((x, c) => x - frame.positions[3 * k + c]); });
await send(page, { type: 'play', on: true });
const [drove, from] = [await state(page), await offset()];
await page.waitForFunction(([k, x, y]) => { const { positions } = window.linkwork.view.frame; return Math.hypot(positions[3 * k] - x, positions[3 * k + 1] - y) > 2; }, [followed, drove.positions[3 * followed], drove.positions[3 * followed + 1]]);
await send(page, { type: 'play', on: false });
await standsStill(page);
// the camera follows when the next picture is drawn, which a busy machine does late
await eventually(async () => { const now = await offset(); assert.ok(apart(now, from) < 0.05, `the camera goes along: ${now} instead of ${from}`); });
assertSeen(await drawn(page), 'followed car');
await shot(page, 'followed');
await page.keyboard.press('g');
assert.equal(await view(() => window.linkwork.view.followed), null);

// ---- charts: lines for what there is, and numbers beside them
await choose(page, 'wrecking-ball');
await send(page, { type: 'play', on: true });
await page.waitForFunction(() => window.linkwork.view.frame.time > 0.8);
await send(page, { type: 'play', on: false });
await standsStill(page);
const charts = () => view(() => window.linkwork.view.charts.items.map(({ title, canvas, value, whole, lines }) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  // colours of lines have a hue; ticks and text are grey
  const columns = new Set();
  for (let k = 0; k < data.length; k += 4) if (data[k + 3] > 128 && Math.max(data[k], data[k + 1], data[k + 2]) - Math.min(data[k], data[k + 1], data[k + 2]) > 60) columns.add((k / 4) % canvas.width);
  return { title, count: lines.length, isEmpty: whole.classList.contains('empty'), covered: columns.size / canvas.width, value: value.textContent };
}));
await eventually(async () => {
  const drawnCharts = await charts();
  for (const title of ['energy', 'largest joint error', 'step time', 'iterations']) {
    const chart = drawnCharts.find((c) => c.title === title);
    assert.ok(!chart.isEmpty && chart.covered > 0.5, JSON.stringify(chart));
    assert.match(chart.value, /\d/);
  }
  assert.ok(drawnCharts.find((c) => c.title === 'penetration').isEmpty, 'nothing touches');
  const [total, told] = await view(() => { const { kinetic, potential, elastic } = window.linkwork.history.rows.at(-1); return [kinetic + potential + elastic, window.linkwork.view.charts.items[0].value.textContent]; });
  assert.ok(Math.abs(parseFloat(told.replace('−', '-')) - total) <= 0.02 * Math.abs(total), `${told} of ${total} J`);
});
await page.click('#reset');
await page.waitForFunction(() => window.linkwork.history.rows.length === 0);

// ---- warnings in plain words: a top that turns too far in a step
await build(page, 'top', { spin: 100 });
assert.ok(await page.isHidden('#warnings-section'));
await send(page, { type: 'dt', value: 0.1 });
await steps(page, 5);
await page.waitForSelector('#warnings-section:not([hidden])');
const warning = await page.textContent('#warnings');
assert.match(warning, /step/);
assert.match(warning, /first at \d/);
await shot(page, 'warnings');
await page.click('#reset');
await page.waitForFunction(() => document.getElementById('warnings-section').hidden);

// ---- more contacts than a frame has room for are counted; a scene that takes a while is announced
await page.evaluate(() => { window.banners = []; new MutationObserver(() => window.banners.push(document.getElementById('banner').textContent)).observe(document.getElementById('banner'), { childList: true }); });
await build(page, 'pyramid', { base: 62 });
assert.ok((await view(() => window.banners)).includes('Building pyramid…'));
assert.ok(await page.isHidden('#banner'));
await page.click('#toggle-contacts');
await steps(page, 3);
await page.waitForSelector('#left-out:not([hidden])');
const [, shownOnes, all] = (await page.textContent('#left-out')).match(/the strongest (\d+) of (\d+) contacts/).map(Number);
assert.ok(shownOnes > 1000 && all > 5000, `${shownOnes} of ${all}`);
await page.waitForFunction(() => { const { contactDots } = window.linkwork.view.overlays; return document.getElementById('left-out').textContent.includes(`strongest ${contactDots.object.geometry.drawRange.count} of`); });
await shot(page, 'many-contacts');
await page.click('#toggle-contacts');
await page.waitForSelector('#left-out', { state: 'hidden' });

// ---- a scene that cannot be built leaves the one that runs, by name too
await choose(page, 'four-bar');
await page.evaluate(() => { document.getElementById('scenes').value = 'tree'; });
await send(page, { type: 'scene', name: 'tree', parameters: { bodies: 4 } });
await page.waitForSelector('.notice.error');
await page.waitForFunction(() => document.getElementById('scenes').value === 'four-bar' && document.getElementById('banner').hidden);
await page.close();

// ---- a finger: what is touched can be nailed there
const phone = await open(ADDRESS, { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true, colorScheme: 'dark' });
await build(phone, 'double-pendulum');
// the picture becomes wide and low while a panel is open, and narrow again: all of the scene stays in it
const inPicture = () => phone.evaluate(() => {
  const { stage, bodies } = window.linkwork.view;
  const corners = bodies.corners();
  let most = 0;
  for (let k = 0; k < corners.length; k += 3) most = Math.max(most, ...stage.center.clone().fromArray(corners, k).project(stage.camera).toArray().slice(0, 2).map(Math.abs));
  return most;
});
await phone.tap('#open-left');
await phone.waitForTimeout(400);
await phone.tap('#home');
await phone.waitForTimeout(100);
assert.ok((await inPicture()) < 1, 'above the panel');
await phone.tap('#open-left');
await phone.waitForTimeout(400);
assert.ok((await inPicture()) < 1, 'and without it');
const last = await phone.evaluate(() => window.linkwork.view.description.bodies.length - 1);
// not at the centre, but on the body: where the ray to there meets it
const size = await phone.evaluate((k) => window.linkwork.view.description.bodies[k].shapes[0].geometry.box.size, last);
const axis = size.indexOf(Math.max(...size));
const centre = await phone.evaluate((k) => window.linkwork.view.description.bodies[k].center, last);
const point = centre.map((x, k) => (k === axis ? x + 0.35 * size[k] : x));
const finger = await onScreen(phone, last, point);
await phone.touchscreen.tap(finger.x, finger.y);
await phone.waitForFunction((k) => window.linkwork.view.selected.body === k, last);
await phone.tap('#open-right');
await phone.waitForSelector('#inspector', { state: 'visible' });
await phone.tap('#inspector button:has-text("Nail")');
await phone.waitForFunction(() => window.linkwork.view.description.nails.length === 1);
const nail = await phone.evaluate(() => { const { description } = window.linkwork.view; return description.joints[description.nails[0]].frame_b.position; });
assert.ok(Math.abs(nail[axis] - point[axis]) < 0.1 * size[axis], `nailed at ${nail} and touched at ${point}`);
assert.ok(apart(nail, centre) > 0.2 * size[axis], 'not at the centre');
await phone.tap('#open-right');
await phone.waitForTimeout(400);
assertSeen(await drawn(phone), 'double-pendulum on a telephone', 0.002);
await shot(phone, 'phone-nailed');
await phone.close();

// ---- a page forgets what it knew when another server answers at its address: both count their scenes from 1
const serve = (scene, port) => new Promise((resolve, reject) => {
  const server = spawn(PROGRAM, ['view', scene, '--no-open', '--paused', '--port', String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  server.stdout.once('data', (text) => resolve({ server, address: String(text).trim() }));
  server.once('exit', (code) => reject(new Error(`the viewer of ${scene} ended with ${code}`)));
});
const ended = (server) => new Promise((resolve) => { server.removeAllListeners('exit'); server.once('exit', resolve); server.kill('SIGINT'); });
const one = await serve('four-bar', 0);
const lasting = await open(one.address);
assert.equal(await lasting.evaluate(() => window.linkwork.scene), 1);
await ended(one.server);
await lasting.waitForSelector('#banner:not([hidden])');
const two = await serve('excavator', new URL(one.address).port);
await lasting.waitForFunction(() => window.linkwork.view.description.name === 'excavator' && window.linkwork.view.frame?.count === window.linkwork.view.description.bodies.length);
assert.deepEqual(await lasting.evaluate(() => [window.linkwork.scene, document.getElementById('title').textContent, document.getElementById('scenes').value, document.getElementById('banner').hidden]), [1, 'excavator', 'excavator', true]);
assertSeen(await drawn(lasting), 'the scene of the other server');
await ended(two.server);
await lasting.close();

// the browser notes that nobody answered for a while
await close([['WebSocket connection', null], ['net::ERR_CONNECTION_REFUSED', null]]);
console.log('the page looks right');

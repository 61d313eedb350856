// The page in a real browser. ADDRESS is a viewer of double-pendulum, REPLAY a page written by `run --html`, BROWSER the program.
// SHOTS names a folder for pictures.

import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const { ADDRESS, REPLAY, BROWSER, SHOTS } = process.env;
const PATIENCE = 30000;
const browser = await chromium.launch({
  executablePath: BROWSER.startsWith('/') ? BROWSER : `/usr/bin/${BROWSER}`,
  args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
});
const problems = [];

async function open(url, options = {}) {
  const page = await browser.newPage({ viewport: { width: 960, height: 480 }, ...options });
  page.setDefaultTimeout(PATIENCE);
  page.on('pageerror', (error) => problems.push(`${url}: ${error.message}`));
  page.on('console', (message) => { if (message.type() === 'error') problems.push(`${url}: ${message.text()}`); });
  await page.goto(url);
  await page.waitForFunction(() => window.linkwork?.view?.metrics.frames > 1);
  return page;
}

/** How many colours a picture of the scene has, and how much of it is not background. */
async function statistics(page) {
  return page.evaluate(() => {
    const { stage } = window.linkwork.view;
    stage.render();
    const copy = document.createElement('canvas');
    [copy.width, copy.height] = [stage.canvas.width, stage.canvas.height];
    const pen = copy.getContext('2d');
    pen.drawImage(stage.canvas, 0, 0);
    const { data } = pen.getImageData(0, 0, copy.width, copy.height);
    const counts = new Map();
    for (let k = 0; k < data.length; k += 4) {
      const colour = (data[k] << 16) | (data[k + 1] << 8) | data[k + 2];
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    const most = Math.max(...counts.values());
    return { colours: counts.size, drawn: 1 - most / (data.length / 4) };
  });
}

const shot = async (page, name) => { if (SHOTS) await page.screenshot({ path: `${SHOTS}/${name}.png` }); };
const state = (page) => page.evaluate(() => { const { frame } = window.linkwork.view; return { time: frame.time, steps: frame.steps, positions: [...frame.positions] }; });
const moved = (a, b) => a.positions.some((x, k) => Math.abs(x - b.positions[k]) > 1e-4);

/** Where a body is on the screen. */
const onScreen = (page, body) => page.evaluate((k) => {
  const { frame, stage, bodies } = window.linkwork.view;
  const center = bodies.bodies[k].center;
  const at = window.linkwork.view.pointer.fromBody(frame, k, stage.center.clone().set(...center)).project(stage.camera);
  const box = stage.canvas.getBoundingClientRect();
  return { x: box.left + ((at.x + 1) / 2) * box.width, y: box.top + ((1 - at.y) / 2) * box.height };
}, body);

// ---- a running simulation
const page = await open(ADDRESS);
const first = await state(page);
await page.waitForFunction((time) => window.linkwork.view.frame.time > time + 0.1, first.time);
assert.ok(moved(first, await state(page)), 'bodies move');
const seen = await statistics(page);
assert.ok(seen.colours > 20 && seen.drawn > 0.01, `the picture is not blank: ${JSON.stringify(seen)}`);
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

// ---- everything that can be switched is switched
for (const key of ['joints', 'frames', 'velocities', 'reactions', 'contacts', 'shadows']) await page.click(`#toggle-${key}`);
for (const style of ['wireframe', 'x-ray', 'solid']) await page.selectOption('#style', style);
await page.selectOption('#colouring', 'mechanisms');
await page.selectOption('#speed', 'null');
await page.waitForFunction(() => window.linkwork.status.speed === null);
await page.evaluate(() => window.linkwork.view.selectJoint(0));
await page.waitForFunction(() => window.linkwork.view.frame.joints.size === 1);
await page.keyboard.press('?');
assert.ok(await page.isVisible('#help-dialog'));
await page.keyboard.press('Escape');
await page.keyboard.press('l');
await shot(page, 'toggles');

// ---- a telephone
const phone = await open(ADDRESS, { viewport: { width: 360, height: 640 }, hasTouch: true, colorScheme: 'dark' });
assert.ok(!(await phone.isVisible('#left')), 'panels are away at first');
await phone.click('#open-left');
await phone.waitForSelector('#scenes', { state: 'visible' });
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
const replayed = await statistics(replay);
assert.ok(replayed.colours > 20 && replayed.drawn > 0.01, 'the replay is not blank');
const download = replay.waitForEvent('download');
await replay.click('#shot');
assert.match((await download).suggestedFilename(), /\.png$/);
await shot(replay, 'replay');

await browser.close();
assert.deepEqual(problems, [], 'no error on the console');
console.log('the page works');

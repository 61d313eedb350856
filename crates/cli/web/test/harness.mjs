// What the tests in a real browser share. ADDRESS is a viewer of double-pendulum, BROWSER the program, PROGRAM the command itself, REPLAY a page
// written by `run --html`. SHOTS names a folder for pictures.

import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

export const { ADDRESS, REPLAY, BROWSER, PROGRAM, SHOTS } = process.env;
export const PATIENCE = 30000;
export const browser = await chromium.launch({
  executablePath: BROWSER.startsWith('/') ? BROWSER : `/usr/bin/${BROWSER}`,
  args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
});
const problems = [];

export async function open(url, options = {}) {
  const page = await browser.newPage({ viewport: { width: 960, height: 480 }, ...options });
  page.setDefaultTimeout(PATIENCE);
  page.on('pageerror', (error) => problems.push(`${url}: ${error.message}`));
  page.on('console', (message) => { if (message.type() === 'error') problems.push(`${url}: ${message.text()}`); });
  await page.goto(`${url}?check`);
  await page.waitForFunction(() => window.linkwork?.view?.metrics.frames > 1);
  return page;
}

/** Ends the browser; nothing may have gone wrong but what is expected, so often. */
export async function close(expected = []) {
  await browser.close();
  let left = problems;
  for (const [words, count] of expected) {
    const found = left.filter((problem) => problem.includes(words));
    assert.ok(count === null || found.length === count, `${words}: ${found.length} times`);
    left = left.filter((problem) => !found.includes(problem));
  }
  assert.deepEqual(left, [], 'no error on the console');
}

/**
 * What of the picture is there because of the bodies and particles: the picture with them against the one without. `part` of all pixels differ, in so many
 * `colours`, between `dark` and `light` (0 to 255), and around `middle` (parts of width and height).
 */
export async function drawn(page) {
  return page.evaluate(() => {
    const { stage, bodies, particles, overlays } = window.linkwork.view;
    const pixels = () => {
      stage.render();
      const copy = document.createElement('canvas');
      [copy.width, copy.height] = [stage.canvas.width, stage.canvas.height];
      const pen = copy.getContext('2d', { willReadFrequently: true });
      pen.drawImage(stage.canvas, 0, 0);
      return pen.getImageData(0, 0, copy.width, copy.height).data;
    };
    const shown = [...bodies.meshes, ...particles.objects, overlays.bars.object, overlays.studs, overlays.rails.object].filter((object) => object.visible);
    const full = pixels();
    shown.forEach((object) => { object.visible = false; });
    const empty = pixels();
    shown.forEach((object) => { object.visible = true; });
    stage.dirty = true;
    const colours = new Set();
    let [count, light, dark, x, y] = [0, 0, 255, 0, 0];
    for (let k = 0; k < full.length; k += 4) {
      if (Math.abs(full[k] - empty[k]) + Math.abs(full[k + 1] - empty[k + 1]) + Math.abs(full[k + 2] - empty[k + 2]) < 12) continue;
      count += 1;
      x += (k / 4) % stage.canvas.width;
      y += Math.floor(k / 4 / stage.canvas.width);
      colours.add((full[k] >> 3 << 10) | (full[k + 1] >> 3 << 5) | (full[k + 2] >> 3));
      const bright = (full[k] + full[k + 1] + full[k + 2]) / 3;
      [light, dark] = [Math.max(light, bright), Math.min(dark, bright)];
    }
    return { part: count / (full.length / 4), colours: colours.size, light, dark, middle: [x / count / stage.canvas.width, y / count / stage.canvas.height] };
  });
}

/** Something is to be seen: not a blank picture, not a floor alone, not a flat silhouette, not in a corner. */
export function assertSeen(seen, name, least = 0.004) {
  const what = `${name}: ${JSON.stringify(seen)}`;
  assert.ok(seen.part > least, `too little is drawn of ${what}`);
  assert.ok(seen.colours >= 8 && seen.light - seen.dark > 40, `no light and shade on ${what}`);
  assert.ok(seen.middle.every((at) => at > 0.1 && at < 0.9), `not in the middle: ${what}`);
}

/** Waits until what the server says about itself fits. */
export async function status(page, fits) {
  for (const end = Date.now() + PATIENCE; ;) {
    const said = await page.evaluate(() => window.linkwork.status);
    if (said && fits(said)) return said;
    assert.ok(Date.now() < end, `${fits}: ${JSON.stringify(said)}`);
    await page.waitForTimeout(30);
  }
}

/** Tries again until something holds: pages have much to do on a busy machine. */
export async function eventually(holds) {
  for (const end = Date.now() + PATIENCE; ;) {
    try { await holds(); return; } catch (error) { if (Date.now() > end) throw error; }
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}

export const send = (page, message) => page.evaluate((order) => window.linkwork.connection.send(order), message);
export const settled = (page) => page.waitForFunction(() => window.linkwork.view.frame?.scene === window.linkwork.scene);
/** Lets go of a file over the page, as a file manager does. */
export const drop = (page, name, text) => page.evaluate(([fileName, content]) => {
  const files = new DataTransfer();
  files.items.add(new File([content], fileName));
  for (const type of ['dragenter', 'dragover']) document.body.dispatchEvent(new DragEvent(type, { dataTransfer: files, bubbles: true, cancelable: true }));
  if (!document.body.classList.contains('dropping')) throw new Error('the page does not say where to drop');
  document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }));
}, [name, text]);
export const choose = async (page, name) => {
  await page.selectOption('#scenes', name);
  await page.waitForFunction((n) => window.linkwork.view.description.name === n, name);
  await settled(page);
};
/** A scene with parameters, standing still at its start. */
export const build = async (page, name, parameters = {}) => {
  const before = await page.evaluate(() => window.linkwork.scene);
  await send(page, { type: 'play', on: false });
  await send(page, { type: 'scene', name, parameters });
  await page.waitForFunction((number) => window.linkwork.scene > number && window.linkwork.view.frame?.scene === window.linkwork.scene && !window.linkwork.view.frame.playing, before);
};
/** So many steps more. */
export const steps = async (page, count) => {
  const before = await page.evaluate(() => window.linkwork.view.frame.steps);
  await send(page, { type: 'step', count });
  await page.waitForFunction((wanted) => window.linkwork.view.frame.steps >= wanted, before + count);
};
/** A picture as a string, to compare it with another. */
export const picture = (page) => page.evaluate(() => { const { stage } = window.linkwork.view; stage.render(); return stage.canvas.toDataURL(); });

export const shot = async (page, name) => { if (SHOTS) await page.screenshot({ path: `${SHOTS}/${name}.png` }); };
export const state = (page) => page.evaluate(() => { const { frame } = window.linkwork.view; return { time: frame.time, steps: frame.steps, positions: [...frame.positions] }; });
export const moved = (a, b) => a.positions.some((x, k) => Math.abs(x - b.positions[k]) > 1e-4);

/** Waits until a paused simulation shows its last frame: frames that were under way have come. */
export async function standsStill(page) {
  await status(page, (s) => !s.playing);
  for (let last = -1; ;) {
    const now = (await state(page)).steps;
    if (now === last) return;
    last = now;
    await page.waitForTimeout(200);
  }
}

/** Where a body is on the screen: its centre of mass, or another point of it. */
export const onScreen = (page, body, point = null) => page.evaluate(([k, at]) => {
  const { frame, stage, bodies, pointer } = window.linkwork.view;
  const place = pointer.fromBody(frame, k, stage.center.clone().set(...(at ?? bodies.bodies[k].center))).project(stage.camera);
  const box = stage.canvas.getBoundingClientRect();
  return { x: box.left + ((place.x + 1) / 2) * box.width, y: box.top + ((1 - place.y) / 2) * box.height };
}, [body, point]);

// The figures of docs/viewer.md: `PROGRAM=target/release/linkwork BROWSER=chromium node figures.mjs [SCENE] [KEY=VALUE...]`, in a folder
// where `npm ci` has installed playwright-core. Without a scene it takes a spider of 1999 bodies.
//
// Times of the page's script are CPU time of its main thread, so that a busy machine and drawing without a graphics card, which
// Chromium does in another process, are not counted; everything is counted that the script does: reading frames, placing bodies, charts,
// and handing the picture to the graphics card.
//
// Fails if a figure is worse than what docs/viewer.md promises; the first picture is wall time and only told unless STRICT is set.

import { spawn } from 'node:child_process';
import { chromium } from 'playwright-core';

const { PROGRAM, BROWSER = 'chromium' } = process.env;
const [scene, ...settings] = process.argv.length > 2 ? process.argv.slice(2) : ['spider', 'legs=666'];
const SECONDS = 6;
/** What has to be reached with 2000 bodies, and what was not. */
const WANTED = { kB: 64, scriptMs: 4, costPercent: 5, firstPictureMs: 1000 };
const missed = [];
const check = (what, value, limit, isCounted = true) => {
  if (!(value < limit)) (isCounted ? missed : []).push(`${what}: ${value.toFixed(2)}, and below ${limit} is wanted`);
};

const viewer = spawn(PROGRAM, ['view', scene, ...settings.flatMap((setting) => ['--set', setting]), '--no-open'], { stdio: ['ignore', 'pipe', 'inherit'] });
const address = await new Promise((resolve, reject) => {
  viewer.stdout.once('data', (text) => resolve(String(text).trim()));
  viewer.once('exit', (code) => reject(new Error(`the viewer ended with ${code}`)));
});
viewer.removeAllListeners('exit');
const browser = await chromium.launch({
  executablePath: BROWSER.startsWith('/') ? BROWSER : `/usr/bin/${BROWSER}`,
  args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
});

try {
  await measure();
} finally {
  await browser.close();
  viewer.kill('SIGINT');
}
for (const what of missed) console.error(`missed: ${what}`);
process.exitCode = missed.length ? 1 : 0;

async function measure() {
  const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
  console.log(`${'an empty canvas, for comparison'.padEnd(44)} ${median(await emptyCanvases()).toFixed(0)} ms after opening`);
  const opened = [];
  for (let k = 0; k < 5; k++) opened.push(await open());
  const { busy, ...times } = opened[0];
  for (const what of Object.keys(times)) console.log(`${what.padEnd(44)} ${median(opened.map((o) => o[what])).toFixed(0)} ms after opening (median of ${opened.length})`);
  check('first picture, ms', median(opened.map((o) => o['first picture handed to the graphics card'])), WANTED.firstPictureMs, !!process.env.STRICT);
  console.log(`${'main thread of the page until then'.padEnd(44)} ${median(opened.map((o) => o.busy)).toFixed(0)} ms of a processor`);

  const page = await browser.newPage({ viewport: { width: 960, height: 540 } });
  const devtools = await page.context().newCDPSession(page);
  let largest = 0;
  devtools.on('Network.webSocketFrameReceived', ({ response }) => {
    if (response.opcode === 2) largest = Math.max(largest, Buffer.from(response.payloadData, 'base64').length);
  });
  await page.goto(address);
  await page.waitForFunction(() => window.linkwork?.view?.metrics.frames > 5, null, { timeout: 60000 });
  console.log(`${'bodies, joints'.padEnd(44)} ${await page.evaluate(() => `${window.linkwork.view.description.bodies.length}, ${window.linkwork.view.description.joints.length}`)}`);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  // as fast as possible: a simulation that waits for real time most of the time loses nothing
  await page.evaluate(() => window.linkwork.connection.send({ type: 'speed', value: null }));
  const script = async () => (await devtools.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'ScriptDuration').value;
  for (const shown of [[], ['joints', 'frames', 'velocities', 'reactions', 'contacts']]) {
    for (const key of shown) await page.click(`#toggle-${key}`);
    await page.waitForTimeout(1500); // compiled by then
    const name = shown.length ? 'everything shown' : 'bodies alone';
    largest = 0;
    await devtools.send('Network.enable');
    await page.waitForTimeout(500);
    await devtools.send('Network.disable');
    console.log(`${`a frame on the wire, ${name}`.padEnd(44)} ${(largest / 1000).toFixed(1)} kB at most`);
    if (!largest) missed.push('no frame came');
    check(`a frame, ${name}, kB`, largest / 1000, WANTED.kB);
    const said = () => page.evaluate(() => ({ ...window.linkwork.view.metrics, ...window.linkwork.status.cost }));
    const ask = () => page.evaluate(() => window.linkwork.connection.send({ type: 'play', on: true })); // makes the server tell its cost
    await ask();
    await page.waitForTimeout(100);
    const [before, begun] = [await said(), await script()];
    await page.waitForTimeout(1000 * SECONDS);
    await ask();
    await page.waitForTimeout(200);
    const [after, ended] = [await said(), await script()];
    const drawn = after.frames - before.frames;
    console.log(`${`script a frame, ${name}`.padEnd(44)} ${((1000 * (ended - begun)) / drawn).toFixed(2)} ms (${drawn} frames; by the clock ${((after.scriptMs - before.scriptMs) / drawn).toFixed(2)} ms without drawing)`);
    check(`script, ${name}, ms`, (1000 * (ended - begun)) / drawn, WANTED.scriptMs);
    const cost = (after.showing_s - before.showing_s) / (after.stepping_s - before.stepping_s);
    console.log(`${`taken from the simulation, ${name}`.padEnd(44)} ${(100 * cost).toFixed(3)} % at full speed`);
    check(`taken from the simulation, ${name}, %`, 100 * cost, WANTED.costPercent);
  }
}

/** How long this browser takes for a page that only clears a canvas: what no page can do anything about, ms. */
async function emptyCanvases() {
  const times = [];
  for (let k = 0; k < 5; k++) {
    const page = await browser.newPage({ viewport: { width: 960, height: 540 } });
    await page.goto(`data:text/html,<canvas width=960 height=540></canvas><script>
      const gl = document.querySelector('canvas').getContext('webgl2', { antialias: true });
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
      window.shownMs = performance.now();
    </script>`);
    times.push(await page.evaluate(() => window.shownMs));
    await page.close();
  }
  return times;
}

/** What happens when after a page is opened, ms. */
async function open() {
  const page = await browser.newPage({ viewport: { width: 960, height: 540 } });
  await page.addInitScript(() => {
    const look = () => {
      const { linkwork } = window;
      if (!linkwork?.view?.metrics.firstPictureMs) { requestAnimationFrame(look); return; }
      const gl = linkwork.view.stage.renderer.getContext();
      linkwork.view.stage.render();
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // waits until it is drawn
      window.shownMs = performance.now();
    };
    requestAnimationFrame(look);
  });
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  await page.goto(address);
  await page.waitForFunction(() => window.shownMs, null, { timeout: 60000 });
  const busy = 1000 * (await devtools.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value;
  const times = await page.evaluate(() => {
    const marks = Object.fromEntries(performance.getEntriesByType('mark').map(({ name, startTime }) => [name, startTime]));
    return { ...marks, 'first picture handed to the graphics card': window.linkwork.view.metrics.firstPictureMs, 'first picture drawn (a second one by then)': window.shownMs };
  });
  await page.close();
  return { ...times, busy };
}

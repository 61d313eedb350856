// The pictures of docs/gallery.md: `ADDRESS=http://... BROWSER=chromium SHOTS=docs/pictures/gallery node gallery.mjs [SCENE...]`, with the
// address of a viewer. All scenes if none is named.

import { chromium } from 'playwright-core';

const { ADDRESS, BROWSER, SHOTS } = process.env;
/** Seconds of simulated time at which a scene is worth looking at, where that is not one second. */
const MOMENTS = { bead: 0.6, chain: 0.12, 'cloth-sphere': 2, cradle: 0.75, hammock: 2, magnets: 1.5, net: 2, 'rope-bridge': 2, 'rope-crane': 4, skeletons: 1.6, 'spring-mesh': 0.6, tank: 1.5, tinkertoys: 0.6, 'wrecking-ball': 1.5, tree: 3, star: 1.5, 'double-pendulum': 0.4, tube: 0.3 };
const SETTINGS = { chain: { links: 12, lying: 8 }, excavator: { motion: 1 } };

const browser = await chromium.launch({
  executablePath: BROWSER.startsWith('/') ? BROWSER : `/usr/bin/${BROWSER}`,
  args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
});
const page = await browser.newPage({ viewport: { width: 1112, height: 401 } });
page.on('pageerror', (error) => { console.log(`error: ${error.message}`); process.exitCode = 1; });
await page.goto(ADDRESS);
await page.waitForFunction(() => window.linkwork?.scenes.entries.length && window.linkwork.view.frame);
const all = await page.evaluate(() => window.linkwork.scenes.entries.map((entry) => entry.name));
const chosen = process.argv.length > 2 ? process.argv.slice(2) : all;
for (const name of chosen) {
  const number = await page.evaluate(() => window.linkwork.scene);
  await page.evaluate(([scene, parameters]) => {
    window.linkwork.connection.send({ type: 'play', on: false });
    window.linkwork.connection.send({ type: 'scene', name: scene, parameters });
  }, [name, SETTINGS[name] ?? {}]);
  await page.waitForFunction((before) => window.linkwork.scene > before && window.linkwork.view.frame?.scene === window.linkwork.scene, number, { timeout: 60000 });
  const steps = await page.evaluate((time) => Math.round(time / window.linkwork.status.dt), MOMENTS[name] ?? 1);
  await page.evaluate((count) => { for (let k = 0; k < count; k += 100) window.linkwork.connection.send({ type: 'step', count: Math.min(100, count - k) }); }, steps);
  await page.waitForFunction((count) => window.linkwork.view.frame.steps >= count, steps, { timeout: 120000 });
  // what is there at this moment, as large as it can be
  await page.evaluate(() => { const { view } = window.linkwork; view.frameScene(view.stage.floorHeight, null); view.redraw(); });
  await page.waitForTimeout(400);
  await page.evaluate(() => { document.getElementById('hint').hidden = true; window.linkwork.view.stage.dirty = true; });
  await page.waitForTimeout(300);
  await page.locator('#view').screenshot({ path: `${SHOTS}/${name}.jpg`, type: 'jpeg', quality: 82 });
  console.log(name);
}
await browser.close();

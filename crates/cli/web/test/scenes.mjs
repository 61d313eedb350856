// Every scene of the registry in a real browser: it is built, moves or stands as it should, and is seen, above its floor and lit from above.

import assert from 'node:assert/strict';
import { ADDRESS, assertSeen, build, close, drawn, open, shot, state, steps } from './harness.mjs';

/** Small sizes of what takes long to build, step or draw; everything else as it is. */
const SMALL = {
  bridge: { pairs: 21, loops: 12 }, 'cloth-sphere': { cells: 16 }, 'cloth-strandbeest': { cells: 12 }, magnets: { letters: 20 }, net: { meshes: 6, boxes: 3 }, pyramid: { base: 8 },
  rings: { rings: 36 }, skeletons: { skeletons: 3 }, spider: { legs: 20 }, strandbeest: { legs: 6 }, tube: { rings: 4 },
};
/** These are at rest from the beginning. */
const AT_REST = ['crane', 'crane-load', 'excavator', 'pyramid', 'scissor-lift'];
/** Of thin things less is seen: part of the picture that bodies and particles must have. */
const THIN = { bead: 0.0015, 'particle-pendulums': 0.0015, 'rope-crane': 0.002, 'double-pendulum': 0.002, peaucellier: 0.002, 'wrecking-ball': 0.002 };
const STEPS = 15;
/** What has small steps takes more of them until it has moved, or swung through its lowest point. */
const MORE_STEPS = { chain: 150, 'spring-mesh': 240 };

const page = await open(ADDRESS, { viewport: { width: 900, height: 460 } });
await page.waitForFunction(() => window.linkwork.scenes.entries.length > 0);
const names = await page.evaluate(() => window.linkwork.scenes.entries.map(({ name }) => name));
assert.ok(names.length >= 38, `${names.length} scenes`);
for (const name of names) {
  await build(page, name, SMALL[name]);
  const start = await state(page);
  const points = await page.evaluate(() => [...(window.linkwork.view.frame.points ?? [])]);
  await steps(page, MORE_STEPS[name] ?? STEPS);
  const end = await state(page);
  const after = await page.evaluate(() => [...(window.linkwork.view.frame.points ?? [])]);
  assert.ok([...end.positions, ...after].every(Number.isFinite), `${name}: all is somewhere`);
  const far = Math.max(...end.positions.map((x, k) => Math.abs(x - start.positions[k])), ...after.map((x, k) => Math.abs(x - points[k])), 0);
  const { radius, low, floor, sun, title, chosen } = await page.evaluate(() => {
    const { view } = window.linkwork;
    const { stage } = view;
    return { radius: stage.radius, low: view.bounds().low.z, floor: stage.floorHeight, sun: stage.sun.position.z - stage.sun.target.position.z, title: document.getElementById('title').textContent, chosen: document.getElementById('scenes').value };
  });
  if (AT_REST.includes(name)) assert.ok(far < 0.01 * radius, `${name} is at rest, but goes ${far} m`);
  else assert.ok(far > 1e-4 * radius, `${name} moves only ${far} m`);
  assert.ok(far < 2 * radius, `${name} goes ${far} m`);
  assert.ok(low > floor - 0.02 * radius, `${name} sinks to ${low} m into its floor at ${floor} m`);
  assert.ok(sun > 0, `${name} is lit from below`);
  assert.deepEqual([title, chosen], [name, name]);
  assertSeen(await drawn(page), name, THIN[name]);
  await shot(page, `scene-${name}`);
}
await close();
console.log(`${names.length} scenes are seen`);

// Every kind of shape that scenes can have is drawn, with the right size. Needs three.js: skipped where it is not installed.

import assert from 'node:assert/strict';
import test from 'node:test';

let modules = null;
try {
  const [three, geometry, bodies] = await Promise.all([import('three'), import('../src/geometry.js'), import('../src/bodies.js')]);
  modules = { three, geometry, bodies };
} catch { /* said below */ }
const skip = modules ? false : 'three.js is not installed in crates/cli/web';

const tetrahedron = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]];
const SHAPES = [
  [{ sphere: { radius: 2 } }, [4, 4, 4]],
  [{ box: { size: [1, 2, 3] } }, [1, 2, 3]],
  [{ capsule: { radius: 0.5, length: 3 } }, [1, 1, 4]],
  [{ cylinder: { radius: 0.5, length: 3 } }, [1, 1, 3]],
  [{ cone: { radius: 0.5, length: 2 } }, [1, 1, 2]],
  [{ convex_hull: { points: tetrahedron } }, [1, 1, 1]],
  [{ mesh: { vertices: tetrahedron, triangles: [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]] } }, [1, 1, 1]],
  [{ height_field: { heights: [[0, 1], [2, 0], [0, 0]], size: [4, 6] } }, [4, 6, 2]],
];
const still = (count) => ({ count, positions: new Float32Array(3 * count), orientations: Float32Array.from({ length: 4 * count }, (_, k) => (k % 4 === 3 ? 1 : 0)) });
const body = (geometry) => ({ name: 'b', kind: 'dynamic', mass: 1, center: [0, 0, 0], mechanism: 0, shapes: [{ geometry, position: [0, 0, 0], orientation: [1, 0, 0, 0] }] });

test('shapes have their size', { skip }, () => {
  for (const [geometry, size] of SHAPES) {
    const bodies = new modules.bodies.Bodies({ bodies: [body(geometry)] });
    bodies.place(still(1));
    const { low, high } = bodies.bounds();
    const measured = high.sub(low).toArray();
    measured.forEach((extent, k) => assert.ok(Math.abs(extent - size[k]) < 0.02 * size[k], `${JSON.stringify(geometry)}: ${measured}`));
  }
});

test('a cone stands on its base', { skip }, () => {
  const { geometry, three } = modules;
  const cone = geometry.describeShape({ cone: { radius: 1, length: 1 } }).make();
  const corners = cone.getAttribute('position');
  const at = new three.Vector3();
  for (let k = 0; k < corners.count; k++) {
    at.fromBufferAttribute(corners, k);
    if (at.z > 0.49) assert.ok(Math.hypot(at.x, at.y) < 1e-6, 'the tip is on top');
  }
});

test('a level plane is the floor, and unknown shapes do no harm', { skip }, () => {
  const plane = { ...body('plane'), kind: 'static', mass: null };
  plane.shapes[0].position = [0, 0, -0.25];
  const bodies = new modules.bodies.Bodies({ bodies: [plane, body({ donut: { radius: 1 } })] });
  bodies.place(still(2));
  assert.equal(bodies.levelPlane(), -0.25);
  assert.equal(bodies.meshes.length, 1);
});

test('a body without a shape is a ball of its mass', { skip }, () => {
  const bodies = new modules.bodies.Bodies({ bodies: [{ ...body({}), shapes: [], mass: (4000 * Math.PI) / 3 }] });
  bodies.place(still(1));
  const { low, high } = bodies.bounds();
  assert.ok(Math.abs(high.x - low.x - 2) < 0.02);
});

test('bodies are where the frame says', { skip }, () => {
  const bodies = new modules.bodies.Bodies({ bodies: [body({ box: { size: [2, 4, 6] } })] });
  const half = Math.SQRT1_2;
  // a quarter turn about z, and moved
  bodies.place({ count: 1, positions: Float32Array.of(10, 20, 30), orientations: Float32Array.of(0, 0, half, half) });
  const { low, high } = bodies.bounds();
  [[8, 19, 27], [12, 21, 33]].forEach((corner, k) => corner.forEach((c, i) => assert.ok(Math.abs([low, high][k].toArray()[i] - c) < 1e-4)));
});

test('boxes are around what is drawn, whatever the shape and however it lies', { skip }, () => {
  const { three } = modules;
  const shapes = [{ box: { size: [2, 4, 6] } }, { sphere: { radius: 1.5 } }, { cylinder: { radius: 1, length: 3 } }, { capsule: { radius: 0.5, length: 2 } }, { cone: { radius: 1, length: 2 } }];
  for (const shape of shapes) {
    const bodies = new modules.bodies.Bodies({ bodies: [body(shape)] });
    const turn = new three.Quaternion(0.3, -0.5, 0.2, 0.7).normalize();
    bodies.place({ count: 1, positions: Float32Array.of(1, 2, 3), orientations: Float32Array.from(turn.toArray()) });
    const drawn = new three.Box3().setFromBufferAttribute(bodies.meshes[0].geometry.getAttribute('position').clone().applyMatrix4(new three.Matrix4().fromArray(bodies.meshes[0].instanceMatrix.array)));
    const { low, high } = bodies.bounds();
    // round shapes are drawn with corners, a little within
    assert.ok(low.distanceTo(drawn.min) < 0.03 && high.distanceTo(drawn.max) < 0.03, JSON.stringify([shape, low, drawn.min, high, drawn.max]));
  }
});

test('a body is drawn as what it collides as', { skip }, () => {
  const bracket = { ...body({ box: { size: [2, 2, 2] } }), colliders: [0, 1].map((x) => ({ geometry: { box: { size: [1, 1, 1] } }, position: [x, 0, 0], orientation: [1, 0, 0, 0] })) };
  const plane = body('plane');
  const pieces = new modules.bodies.Bodies({ bodies: [bracket, body({ sphere: { radius: 1 } }), plane] }, true);
  pieces.place(still(3));
  assert.deepEqual(pieces.meshes.map((mesh) => mesh.count).sort(), [1, 2], 'two pieces and a ball, no plane');
  const colours = pieces.meshes.flatMap((mesh) => Array.from({ length: mesh.count }, (_, k) => mesh.instanceColor.array.slice(3 * k, 3 * k + 3).join()));
  assert.equal(new Set(colours).size, 3, 'every piece has its colour');
  const { low, high } = pieces.bounds();
  assert.deepEqual([low.x, high.x].map(Math.round), [-1, 2]);
});

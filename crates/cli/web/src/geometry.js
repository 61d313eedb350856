// Shapes of bodies as meshes. Shapes that differ only by size share one geometry and are scaled.

import {
  BoxGeometry, BufferGeometry, CapsuleGeometry, ConeGeometry, CylinderGeometry, Float32BufferAttribute, Matrix4, PlaneGeometry, Quaternion,
  SphereGeometry, Vector3,
} from 'three';
import { ConvexGeometry } from 'three/examples/jsm/geometries/ConvexGeometry.js';

const PLANE_SIZE = 400;

/** Sides of round shapes: nobody sees the corners of one among thousands, but everybody waits for them. */
const SIDES = [[150, 32], [1000, 20], [Infinity, 12]];
export const sidesOf = (shapes) => SIDES.find(([most]) => shapes <= most)[1];

/**
 * What to draw for a shape: a key that equal geometries share, how to make it with so many sides, and its size. `half` is how far it reaches
 * from its middle along an axis, from that axis's row of the shape's matrix; shapes without it are looked at corner by corner.
 */
export function describeShape(geometry) {
  // a shape without sizes is its name alone
  const [kind, g] = typeof geometry === 'string' ? [geometry, {}] : Object.entries(geometry ?? {})[0] ?? ['none', {}];
  switch (kind) {
    case 'box': return { key: 'box', scale: g.size, make: () => new BoxGeometry(1, 1, 1), half: (a, b, c) => 0.5 * (Math.abs(a) + Math.abs(b) + Math.abs(c)) };
    case 'sphere': return { key: 'sphere', scale: [g.radius, g.radius, g.radius], make: (sides) => new SphereGeometry(1, sides, Math.round(sides / 1.6)), half: (a, b, c) => Math.sqrt(a * a + b * b + c * c) };
    case 'cylinder':
      return { key: 'cylinder', scale: [g.radius, g.radius, g.length], make: (sides) => alongZ(new CylinderGeometry(1, 1, 1, sides)), half: (a, b, c) => Math.sqrt(a * a + b * b) + 0.5 * Math.abs(c) };
    case 'cone':
      return { key: 'cone', scale: [g.radius, g.radius, g.length], make: (sides) => alongZ(new ConeGeometry(1, 1, sides)) };
    case 'capsule':
      return {
        key: `capsule ${g.radius} ${g.length}`, scale: [1, 1, 1], make: (sides) => alongZ(new CapsuleGeometry(g.radius, g.length, Math.round(sides / 4), sides)),
        half: (a, b, c) => g.radius * Math.sqrt(a * a + b * b + c * c) + 0.5 * g.length * Math.abs(c),
      };
    case 'plane': return { key: 'plane', scale: [1, 1, 1], make: () => new PlaneGeometry(PLANE_SIZE, PLANE_SIZE), isPlane: true };
    case 'convex_hull':
      return { key: `hull ${JSON.stringify(g.points)}`, scale: [1, 1, 1], make: () => new ConvexGeometry(g.points.map((p) => new Vector3(...p))) };
    case 'mesh': return { key: `mesh ${JSON.stringify(g)}`, scale: [1, 1, 1], make: () => triangles(g.vertices, g.triangles) };
    case 'height_field': return { key: `field ${JSON.stringify(g)}`, scale: [1, 1, 1], make: () => heightField(g) };
    default: return null;
  }
}

/** three.js turns about y, scenes about z. */
const alongZ = (geometry) => geometry.rotateX(Math.PI / 2);

/** Flat triangles: a collision mesh shows its faces. */
function triangles(vertices, faces) {
  const positions = [];
  for (const face of faces) for (const corner of face) positions.push(...vertices[corner]);
  const geometry = new BufferGeometry();
  geometry.setAttribute('position', new Float32BufferAttribute(positions, 3));
  geometry.computeVertexNormals();
  return geometry;
}

/** Heights in rows along y, columns along x, centred; `size` is the extent in x and y. */
function heightField(g) {
  const rows = g.heights;
  const [ny, nx] = [rows.length, rows[0]?.length ?? 0];
  const [sx, sy] = g.size;
  const vertex = (i, j) => [sx * (i / (nx - 1) - 0.5), sy * (j / (ny - 1) - 0.5), rows[j][i]];
  const [vertices, faces] = [[], []];
  for (let j = 0; j < ny; j++) for (let i = 0; i < nx; i++) vertices.push(vertex(i, j));
  for (let j = 0; j + 1 < ny; j++) {
    for (let i = 0; i + 1 < nx; i++) {
      const k = j * nx + i;
      faces.push([k, k + 1, k + nx + 1], [k, k + nx + 1, k + nx]);
    }
  }
  return triangles(vertices, faces);
}

/** From the shape's unit geometry to the body's frame. */
export function shapeMatrix(shape, scale) {
  const [w, x, y, z] = shape.orientation ?? [1, 0, 0, 0];
  return new Matrix4().compose(new Vector3(...(shape.position ?? [0, 0, 0])), new Quaternion(x, y, z, w).normalize(), new Vector3(...scale));
}

/** The smallest width of a body's shapes. */
export function thickness(shapes) {
  let least = Infinity;
  for (const { geometry } of shapes) {
    const [kind, g] = typeof geometry === 'string' ? [geometry, {}] : Object.entries(geometry ?? {})[0] ?? ['none', {}];
    if (kind === 'box') least = Math.min(least, ...g.size);
    else if (g.radius) least = Math.min(least, 2 * g.radius, kind === 'cylinder' || kind === 'cone' ? g.length : Infinity);
  }
  return Number.isFinite(least) ? least : 0;
}

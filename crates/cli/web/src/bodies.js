// The bodies: one instanced mesh for all shapes that share a geometry.

import { Color, DoubleSide, DynamicDrawUsage, Vector3 } from 'three';
import { farthest } from './fit.js';
import { describeShape, shapeMatrix, sidesOf } from './geometry.js';
import { copies } from './material.js';

const STATIC = new Color('#94948e');
const KINEMATIC = new Color('#7d8fa3');
const SELECTED = new Color('#ff3d7f');
const ASLEEP = new Color('#6d7285');
const PALETTE = ['#e9a337', '#528bb5', '#cd624d', '#70a16c', '#8d7ab0', '#606e7d'].map((c) => new Color(c));

/** Colours far apart for any number of mechanisms or pieces. */
const distinct = (k) => new Color().setHSL((0.08 + k * 0.618034) % 1, 0.55, 0.55);

/** A body without a shape is shown as a ball of its mass in water. */
const standIn = (body) => ({ geometry: { sphere: { radius: Math.cbrt(((body.mass ?? 0.5) * 3) / (4000 * Math.PI)) } }, position: body.center });

/** What a body collides as, as far as that can be drawn: planes are not, the shapes show them. */
const colliders = (body) => (body.colliders ?? body.shapes).filter((shape) => !describeShape(shape.geometry)?.isPlane);

export class Bodies {
  /** The bodies of a scene; with `arePieces` what the engine collides them as, every convex piece in a colour of its own. */
  constructor(description, arePieces = false) {
    this.description = description;
    this.arePieces = arePieces;
    this.bodies = description.bodies;
    this.meshes = [];
    this.colouring = 'bodies';
    this.selected = null;
    const groups = new Map();
    let pieces = 0;
    this.moving = this.bodies.map((_, k) => k).filter((k) => this.bodies[k].kind !== 'static');
    this.bodies.forEach((body, index) => {
      const shapes = arePieces ? colliders(body) : body.shapes.length || body.mass === null ? body.shapes : [standIn(body)];
      for (const shape of shapes) {
        const drawn = describeShape(shape.geometry);
        if (!drawn) continue;
        const key = shape.sensor ? `sensor ${drawn.key}` : drawn.key;
        if (!groups.has(key)) groups.set(key, { drawn: { ...drawn, isSensor: !!shape.sensor }, members: [] });
        groups.get(key).members.push({ index, piece: pieces++, matrix: shapeMatrix(shape, drawn.scale) });
      }
    });
    for (const { drawn, members } of groups.values()) this.meshes.push(this.instanced(drawn, members, sidesOf(pieces)));
    this.paint();
  }

  instanced(drawn, members, sides) {
    const geometry = drawn.make(sides);
    geometry.computeBoundingSphere();
    const mesh = copies(geometry, members.length, this.arePieces ? { flatShading: true } : {});
    if (drawn.isPlane) mesh.material.side = DoubleSide;
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.castShadow = !drawn.isPlane && !drawn.isSensor;
    mesh.userData = { owner: Int32Array.from(members, (m) => m.index), piece: members.map((m) => m.piece), local: Float64Array.from(members.flatMap((m) => m.matrix.elements)), isPlane: !!drawn.isPlane, isSensor: drawn.isSensor, half: drawn.half };
    return mesh;
  }

  colourOf(index) {
    const body = this.bodies[index];
    if (index === this.selected) return SELECTED;
    if (body.kind === 'static') return STATIC;
    if (body.kind === 'kinematic') return KINEMATIC;
    if (this.sleeping?.[index]) return ASLEEP;
    if (this.colouring === 'mechanisms') return distinct(body.mechanism ?? 0);
    return PALETTE[index % PALETTE.length];
  }

  paint() {
    for (const mesh of this.meshes) {
      const { owner, piece } = mesh.userData;
      owner.forEach((index, k) => mesh.setColorAt(k, this.arePieces && index !== this.selected ? distinct(piece[k]) : this.colourOf(index)));
      if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    }
  }

  /** Bodies that sleep lose their colour; `sleeping` has a number for each body, or is null. */
  showSleeping(sleeping) {
    const before = this.sleeping ?? null;
    if (sleeping === null && before === null) return;
    if (sleeping && before && sleeping.every((on, k) => on === before[k])) return;
    this.sleeping = sleeping;
    this.paint();
  }

  select(index) {
    this.selected = index;
    this.paint();
  }

  /** solid, wireframe, x-ray, or hulls: then the shapes are only a breath around what collides. */
  setStyle(style) {
    for (const { material, userData } of this.meshes) {
      const isClear = style === 'x-ray' || style === 'hulls' || userData.isSensor;
      material.wireframe = style === 'wireframe';
      material.transparent = isClear;
      material.opacity = style === 'hulls' ? 0.12 : isClear ? 0.35 : 1;
      material.depthWrite = !isClear;
      material.needsUpdate = true;
    }
  }

  /** Puts every shape where its body is. Written out, because it runs for thousands of shapes in every frame. */
  place(frame) {
    const { positions, orientations } = frame;
    for (const mesh of this.meshes) {
      const { owner, local } = mesh.userData;
      const out = mesh.instanceMatrix.array;
      for (let k = 0; k < owner.length; k++) {
        const b = owner[k];
        const x = orientations[4 * b], y = orientations[4 * b + 1], z = orientations[4 * b + 2], w = orientations[4 * b + 3];
        const r00 = 1 - 2 * (y * y + z * z), r01 = 2 * (x * y - z * w), r02 = 2 * (x * z + y * w);
        const r10 = 2 * (x * y + z * w), r11 = 1 - 2 * (x * x + z * z), r12 = 2 * (y * z - x * w);
        const r20 = 2 * (x * z - y * w), r21 = 2 * (y * z + x * w), r22 = 1 - 2 * (x * x + y * y);
        const o = 16 * k;
        for (let c = 0; c < 16; c += 4) {
          const l0 = local[o + c], l1 = local[o + c + 1], l2 = local[o + c + 2];
          out[o + c] = r00 * l0 + r01 * l1 + r02 * l2;
          out[o + c + 1] = r10 * l0 + r11 * l1 + r12 * l2;
          out[o + c + 2] = r20 * l0 + r21 * l1 + r22 * l2;
          out[o + c + 3] = 0;
        }
        out[o + 12] += positions[3 * b];
        out[o + 13] += positions[3 * b + 1];
        out[o + 14] += positions[3 * b + 2];
        out[o + 15] = 1;
      }
      mesh.instanceMatrix.needsUpdate = true;
      mesh.boundingSphere = null; // picking makes it anew
    }
  }

  /** The height of a level plane, which the floor is drawn in place of; none if there is no such plane. */
  levelPlane() {
    let height = null;
    for (const mesh of this.meshes.filter((m) => m.userData.isPlane)) {
      const numbers = mesh.instanceMatrix.array;
      const level = Array.from({ length: mesh.count }, (_, k) => k).filter((k) => numbers[16 * k + 10] > 0.9999);
      for (const k of level) height = Math.max(height ?? -Infinity, numbers[16 * k + 14]);
      mesh.visible = level.length < mesh.count;
    }
    return height;
  }

  /** The box around all shapes, where they were placed last; inverted if there are none. */
  bounds() {
    const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
    for (const mesh of this.meshes) {
      const { isPlane, half } = mesh.userData;
      if (isPlane) continue;
      const m = mesh.instanceMatrix.array;
      const corners = half ? null : mesh.geometry.getAttribute('position').array;
      for (let o = 0; o < 16 * mesh.count; o += 16) {
        for (let i = 0; i < 3; i++) {
          const a = m[o + i], b = m[o + 4 + i], c = m[o + 8 + i], at = m[o + 12 + i];
          const most = half ? half(a, b, c) : farthest(corners, a, b, c);
          const least = half ? -most : -farthest(corners, -a, -b, -c);
          if (at + least < low[i]) low[i] = at + least;
          if (at + most > high[i]) high[i] = at + most;
        }
      }
    }
    return { low: new Vector3(...low), high: new Vector3(...high) };
  }

  /** Corners of the boxes around all shapes, each turned with its shape, where they were placed last; three numbers each. */
  corners() {
    const meshes = this.meshes.filter((mesh) => !mesh.userData.isPlane);
    const out = new Float32Array(24 * meshes.reduce((sum, mesh) => sum + mesh.count, 0));
    let at = 0;
    for (const { geometry, instanceMatrix: { array: m }, count } of meshes) {
      if (!geometry.boundingBox) geometry.computeBoundingBox();
      const { min, max } = geometry.boundingBox;
      for (let o = 0; o < 16 * count; o += 16) {
        for (let corner = 0; corner < 8; corner++) {
          const x = corner & 1 ? max.x : min.x, y = corner & 2 ? max.y : min.y, z = corner & 4 ? max.z : min.z;
          for (let i = 0; i < 3; i++) out[at++] = m[o + i] * x + m[o + 4 + i] * y + m[o + 8 + i] * z + m[o + 12 + i];
        }
      }
    }
    return out;
  }

  dispose() {
    for (const mesh of this.meshes) {
      mesh.geometry.dispose();
      mesh.material.dispose();
      mesh.dispose();
      mesh.removeFromParent();
    }
  }
}

// Particles: balls for points, lines for springs, rods and ropes, a surface for cloth.

import {
  BufferAttribute, BufferGeometry, Color, DoubleSide, DynamicDrawUsage, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshLambertMaterial, SphereGeometry, Vector3,
} from 'three';
import { copies, tint } from './material.js';

const PALETTE = ['#c8553d', '#3d7ea6', '#8a9a3b', '#9b5d9e', '#d29a35'].map((c) => new Color(c));
const LARGEST_DRAWN_AS_BALLS = 20000;

/** A typical distance between neighbours, so that balls can be told apart. */
function spacing(points, lines) {
  if (!lines.length) return null;
  const picked = lines.filter((_, k) => k % Math.ceil(lines.length / 50) === 0);
  const lengths = picked.map(([a, b]) => Math.hypot(points[3 * a] - points[3 * b], points[3 * a + 1] - points[3 * b + 1], points[3 * a + 2] - points[3 * b + 2]));
  lengths.sort((a, b) => a - b);
  return lengths[lengths.length >> 1];
}

export class Particles {
  constructor(systems) {
    this.objects = [];
    this.parts = [];
    let first = 0;
    systems.forEach((system, k) => {
      this.parts.push(this.part(system, first, PALETTE[k % PALETTE.length]));
      first += system.count;
    });
    this.count = first;
    this.latest = null;
  }

  part(system, first, colour) {
    const positions = new BufferAttribute(new Float32Array(3 * system.count), 3);
    positions.setUsage(DynamicDrawUsage);
    const part = { system, first, positions, balls: null, surface: null };
    if (system.triangles.length) {
      const geometry = new BufferGeometry();
      geometry.setAttribute('position', positions);
      geometry.setIndex(system.triangles.flat());
      part.surface = new Mesh(geometry, new MeshLambertMaterial({ color: colour, side: DoubleSide }));
      part.surface.castShadow = true;
      part.surface.receiveShadow = true;
      part.surface.frustumCulled = false;
      this.objects.push(part.surface);
    }
    if (system.lines.length) {
      const geometry = new BufferGeometry();
      geometry.setAttribute('position', positions);
      geometry.setIndex(system.lines.flat());
      const lines = new LineSegments(geometry, new LineBasicMaterial({ color: colour }));
      lines.frustumCulled = false;
      this.objects.push(lines);
    }
    const inCloth = new Set(system.triangles.flat());
    part.loose = Array.from({ length: system.count }, (_, k) => k).filter((k) => !inCloth.has(k));
    if (part.loose.length && part.loose.length <= LARGEST_DRAWN_AS_BALLS) {
      const detail = part.loose.length > 1000 ? 0 : 1;
      const ball = new SphereGeometry(1, detail ? 16 : 6, detail ? 12 : 4);
      part.balls = tint(copies(ball, part.loose.length), colour);
      part.balls.instanceMatrix.setUsage(DynamicDrawUsage);
      part.balls.castShadow = true;
      this.objects.push(part.balls);
    }
    return part;
  }

  /** Puts everything where the particles are; `points` are those of all systems. */
  place(points) {
    if (!points || points.length !== 3 * this.count) return;
    this.latest = points;
    const matrix = new Matrix4();
    for (const part of this.parts) {
      const { system, first, positions, balls, surface } = part;
      positions.array.set(points.subarray(3 * first, 3 * (first + system.count)));
      positions.needsUpdate = true;
      if (surface) surface.geometry.computeVertexNormals();
      if (!balls) continue;
      part.size ??= Math.max(system.radius, 0.12 * (spacing(positions.array, system.lines) ?? 0.1));
      part.loose.forEach((k, at) => {
        matrix.makeScale(part.size, part.size, part.size).setPosition(positions.getX(k), positions.getY(k), positions.getZ(k));
        balls.setMatrixAt(at, matrix);
      });
      balls.instanceMatrix.needsUpdate = true;
    }
  }

  /** A box made to hold the particles too. */
  extend({ low, high }) {
    const point = new Vector3();
    if (!this.latest?.length) return { low, high };
    for (let k = 0; k < this.latest.length; k += 3) {
      point.fromArray(this.latest, k);
      low.min(point);
      high.max(point);
    }
    return { low, high };
  }

  dispose() {
    for (const object of this.objects) {
      object.geometry.dispose();
      object.material.dispose();
      object.dispose?.();
      object.removeFromParent();
    }
  }
}

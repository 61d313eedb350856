// Particles: balls for points, lines for springs, rods and ropes, a surface for cloth.

import {
  BufferAttribute, BufferGeometry, Color, DoubleSide, DynamicDrawUsage, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshLambertMaterial, SphereGeometry, Vector3,
} from 'three';
import { Bars } from './lines.js';
import { copies, tint } from './material.js';

const PALETTE = ['#c8553d', '#3d7ea6', '#8a9a3b', '#9b5d9e', '#d29a35'].map((c) => new Color(c));
const LARGEST_DRAWN_AS_BALLS = 20000;
/** So many springs and rods are drawn as bars, which cast shadows; more of them as thin lines. */
const MOST_BARS = 6000;
/** Sides of a bar. */
const SIDES = 6;
/** Of a ball, at least, by the size of the scene. */
const LEAST_SIZE = 0.012;
const HELD = '#94948e';

/** A radius of balls that can be told apart: a part of a typical distance between neighbours. */
function spacing(points, lines) {
  if (!lines.length) return null;
  const picked = lines.filter((_, k) => k % Math.ceil(lines.length / 50) === 0);
  const lengths = picked.map(([a, b]) => Math.hypot(points[3 * a] - points[3 * b], points[3 * a + 1] - points[3 * b + 1], points[3 * a + 2] - points[3 * b + 2]));
  lengths.sort((a, b) => a - b);
  return 0.12 * lengths[lengths.length >> 1];
}

/** Puts a ball of a size at every particle that is named. */
function scatter(balls, particles, positions, size) {
  const matrix = new Matrix4().makeScale(size, size, size);
  particles.forEach((k, at) => balls.setMatrixAt(at, matrix.setPosition(positions.getX(k), positions.getY(k), positions.getZ(k))));
  balls.instanceMatrix.needsUpdate = true;
}

/** Puts a bar of a radius between the two particles of every line. */
function span(bars, lines, p, radius) {
  bars.begin();
  for (const [a, b] of lines) bars.between(p[3 * a], p[3 * a + 1], p[3 * a + 2], p[3 * b], p[3 * b + 1], p[3 * b + 2], radius);
  bars.end();
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
    this.scale = 1;
  }

  part(system, first, colour) {
    const positions = new BufferAttribute(new Float32Array(3 * system.count), 3);
    positions.setUsage(DynamicDrawUsage);
    const part = { system, first, positions, balls: null, surface: null, held: null, bars: null };
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
    const isRods = system.lines.length > 0 && system.lines.length <= MOST_BARS && !system.triangles.length;
    if (isRods) {
      part.bars = new Bars(system.lines.length, colour, SIDES);
      this.objects.push(part.bars.object);
    } else if (system.lines.length) {
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
    if (system.held?.length) {
      part.held = tint(copies(new SphereGeometry(1, 16, 10), system.held.length), HELD);
      part.held.instanceMatrix.setUsage(DynamicDrawUsage);
      part.held.castShadow = true;
      this.objects.push(part.held);
    }
    return part;
  }

  /** Balls can be seen in a scene of this size (m). */
  setScale(radius) {
    this.scale = radius;
    for (const part of this.parts) part.size = undefined;
    this.place(this.latest);
  }

  /** Puts everything where the particles are; `points` are those of all systems. */
  place(points) {
    if (!points || points.length !== 3 * this.count) return;
    this.latest = points;
    for (const part of this.parts) {
      const { system, first, positions, balls, surface, held, bars } = part;
      positions.array.set(points.subarray(3 * first, 3 * (first + system.count)));
      positions.needsUpdate = true;
      if (surface) surface.geometry.computeVertexNormals();
      if (!balls && !held && !bars) continue;
      part.size ??= Math.max(system.radius, spacing(positions.array, system.lines) ?? LEAST_SIZE * this.scale);
      if (bars) span(bars, system.lines, positions.array, 0.35 * part.size);
      if (balls) scatter(balls, part.loose, positions, part.size);
      // seen around the particle, if there is a ball for that
      if (held) scatter(held, system.held, positions, balls ? 1.35 * part.size : part.size);
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

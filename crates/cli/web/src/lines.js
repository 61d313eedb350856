// Lines and bars that are drawn anew in every frame.

import { BufferAttribute, BufferGeometry, CylinderGeometry, DynamicDrawUsage, LineBasicMaterial, LineSegments, Matrix4, Vector3 } from 'three';
import { copies, tint } from './material.js';

/** Coloured line segments; begin(), then segments, then end(). */
export class Lines {
  constructor(onTop = true) {
    this.geometry = new BufferGeometry();
    this.material = new LineBasicMaterial({ vertexColors: true, depthTest: !onTop, transparent: onTop });
    this.object = new LineSegments(this.geometry, this.material);
    this.object.frustumCulled = false;
    if (onTop) this.object.renderOrder = 10;
    this.reserve(256);
  }

  reserve(vertices) {
    this.capacity = vertices;
    for (const name of ['position', 'color']) {
      const attribute = new BufferAttribute(new Float32Array(3 * vertices), 3);
      attribute.setUsage(DynamicDrawUsage);
      const before = this.geometry.getAttribute(name);
      if (before) attribute.array.set(before.array);
      this.geometry.setAttribute(name, attribute);
    }
    this.positions = this.geometry.getAttribute('position').array;
    this.colours = this.geometry.getAttribute('color').array;
  }

  begin() { this.count = 0; }

  segment(ax, ay, az, bx, by, bz, colour) {
    if (this.count + 2 > this.capacity) this.reserve(2 * this.capacity);
    const p = this.positions, c = this.colours;
    let k = 3 * this.count;
    p[k] = ax; p[k + 1] = ay; p[k + 2] = az; p[k + 3] = bx; p[k + 4] = by; p[k + 5] = bz;
    for (let i = 0; i < 2; i++, k += 3) { c[k] = colour.r; c[k + 1] = colour.g; c[k + 2] = colour.b; }
    this.count += 2;
  }

  /** A line with a head of two strokes. */
  arrow(from, to, colour) {
    this.segment(from.x, from.y, from.z, to.x, to.y, to.z, colour);
    const [x, y, z] = [to.x - from.x, to.y - from.y, to.z - from.z];
    const length = Math.sqrt(x * x + y * y + z * z);
    if (length < 1e-9) return;
    // across the arrow and level, or across it and X where it stands upright
    const isUpright = Math.abs(z) > 0.9 * length;
    const [cx, cy, cz] = isUpright ? [0, -z, y] : [-y, x, 0];
    const wide = (0.09 * length) / Math.sqrt(cx * cx + cy * cy + cz * cz);
    const [nx, ny, nz] = [from.x + 0.82 * x, from.y + 0.82 * y, from.z + 0.82 * z];
    for (const sign of [wide, -wide]) this.segment(to.x, to.y, to.z, nx + sign * cx, ny + sign * cy, nz + sign * cz, colour);
  }

  end() {
    this.geometry.setDrawRange(0, this.count);
    for (const name of ['position', 'color']) {
      const attribute = this.geometry.getAttribute(name);
      attribute.clearUpdateRanges();
      attribute.addUpdateRange(0, 3 * this.count);
      attribute.needsUpdate = this.count > 0;
    }
    this.object.visible = this.count > 0;
  }
}

/** Thin cylinders between two points each: rods, ropes, the spring of the mouse. */
export class Bars {
  constructor(capacity, colour) {
    const geometry = new CylinderGeometry(1, 1, 1, 10).rotateX(Math.PI / 2);
    this.object = tint(copies(geometry, capacity), colour);
    this.object.count = 0;
    this.object.visible = false;
    this.object.castShadow = true;
    this.matrix = new Matrix4();
  }

  begin() { this.count = 0; }

  bar(from, to, radius) {
    if (this.count >= this.object.instanceMatrix.count) return;
    const along = new Vector3().subVectors(to, from);
    const length = along.length();
    if (!(length > 1e-9)) return;
    const z = along.divideScalar(length);
    const x = new Vector3(Math.abs(z.z) < 0.9 ? 0 : 1, 0, Math.abs(z.z) < 0.9 ? 1 : 0).cross(z).normalize();
    const y = new Vector3().crossVectors(z, x);
    this.matrix.makeBasis(x.multiplyScalar(radius), y.multiplyScalar(radius), z.multiplyScalar(length));
    this.matrix.setPosition(0.5 * (from.x + to.x), 0.5 * (from.y + to.y), 0.5 * (from.z + to.z));
    this.object.setMatrixAt(this.count++, this.matrix);
  }

  end() {
    this.object.count = this.count;
    this.object.visible = this.count > 0;
    this.object.instanceMatrix.needsUpdate = true;
  }

  dispose() {
    this.object.geometry.dispose();
    this.object.material.dispose();
    this.object.dispose();
    this.object.removeFromParent();
  }
}

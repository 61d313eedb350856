// Lines, arrows and dots of an even width on the screen, and bars in the world, all made anew in every frame.

import {
  BufferAttribute, BufferGeometry, Color, CylinderGeometry, DynamicDrawUsage, InstancedBufferGeometry, InstancedInterleavedBuffer, InterleavedBufferAttribute,
  Mesh, Points, ShaderMaterial, Vector2,
} from 'three';
import { copies, tint } from './material.js';

/** Of a line and of the head of an arrow, px. */
const WIDTH = 1.8;
const HEAD = 11;
/** Numbers of a line: from, to, colour, length of its head. */
const STRIDE = 10;

// A line is a strip of two triangles, its head another one: `position` says how far along, to which side, and whether of the head.
const CORNERS = new Float32Array([0, -1, 0, 1, -1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, -1, 1]);
const LINE_VERTEX = `
attribute vec3 start, end, colour;
attribute float head;
uniform vec2 size;
uniform float ratio;
varying vec3 shade;
void main() {
  shade = colour;
  vec4 a = projectionMatrix * viewMatrix * vec4(start, 1.0), b = projectionMatrix * viewMatrix * vec4(end, 1.0);
  // what is behind the eye is cut off
  float least = 0.001 * max(max(a.w, b.w), 0.0);
  if (least <= 0.0) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  if (a.w < least) a = mix(a, b, (least - a.w) / (b.w - a.w));
  if (b.w < least) b = mix(b, a, (least - b.w) / (a.w - b.w));
  vec2 from = 0.5 * size * a.xy / a.w, to = 0.5 * size * b.xy / b.w;
  float length = distance(from, to);
  vec2 along = length > 1e-4 ? (to - from) / length : vec2(1.0, 0.0);
  vec2 across = vec2(-along.y, along.x);
  float tip = min(head * ratio, 0.5 * length);
  bool isHead = position.z > 0.5, isEnd = position.x > 0.5;
  vec2 at = isHead ? to - (isEnd ? 0.0 : tip) * along + 0.42 * tip * position.y * across
    : (isEnd ? to - 0.8 * tip * along : from) + ${(0.5 * WIDTH).toFixed(2)} * ratio * position.y * across;
  vec4 near = isEnd || isHead ? b : a;
  gl_Position = vec4(2.0 * at / size * near.w, near.z, near.w);
}`;
const LINE_FRAGMENT = `
varying vec3 shade;
void main() {
  gl_FragColor = vec4(shade, 1.0);
  #include <colorspace_fragment>
}`;

/** Keeps the size of the picture in pixels where a shader needs it. */
function follow(object, uniforms) {
  object.onBeforeRender = (renderer) => {
    renderer.getDrawingBufferSize(uniforms.size.value);
    uniforms.ratio.value = renderer.getPixelRatio();
  };
}

/** Coloured lines and arrows over everything else; begin(), then segments and arrows, then end(). */
export class Lines {
  constructor() {
    this.uniforms = { size: { value: new Vector2(1, 1) }, ratio: { value: 1 } };
    this.geometry = new InstancedBufferGeometry();
    this.geometry.setAttribute('position', new BufferAttribute(CORNERS, 3));
    this.geometry.setIndex([0, 1, 2, 0, 2, 3, 4, 5, 6]);
    const material = new ShaderMaterial({ uniforms: this.uniforms, vertexShader: LINE_VERTEX, fragmentShader: LINE_FRAGMENT, depthTest: false, depthWrite: false, transparent: true, side: 2 });
    this.object = new Mesh(this.geometry, material);
    this.object.frustumCulled = false;
    this.object.renderOrder = 10;
    follow(this.object, this.uniforms);
    this.reserve(128);
  }

  reserve(lines) {
    this.capacity = lines;
    const buffer = new InstancedInterleavedBuffer(new Float32Array(STRIDE * lines), STRIDE);
    buffer.setUsage(DynamicDrawUsage);
    if (this.buffer) buffer.array.set(this.buffer.array);
    this.buffer = buffer;
    for (const [name, length, at] of [['start', 3, 0], ['end', 3, 3], ['colour', 3, 6], ['head', 1, 9]]) this.geometry.setAttribute(name, new InterleavedBufferAttribute(buffer, length, at));
    this.numbers = buffer.array;
  }

  begin() { this.count = 0; }

  segment(ax, ay, az, bx, by, bz, colour, head = 0) {
    if (this.count === this.capacity) {
      // numbers of the old size stay with the graphics card otherwise
      this.geometry.dispose();
      this.reserve(2 * this.capacity);
    }
    const n = this.numbers, k = STRIDE * this.count++;
    n[k] = ax; n[k + 1] = ay; n[k + 2] = az; n[k + 3] = bx; n[k + 4] = by; n[k + 5] = bz;
    n[k + 6] = colour.r; n[k + 7] = colour.g; n[k + 8] = colour.b; n[k + 9] = head;
  }

  arrow(from, to, colour) { this.segment(from.x, from.y, from.z, to.x, to.y, to.z, colour, HEAD); }

  end() {
    this.geometry.instanceCount = this.count;
    this.buffer.clearUpdateRanges();
    this.buffer.addUpdateRange(0, STRIDE * this.count);
    if (this.count) this.buffer.needsUpdate = true;
    this.object.visible = this.count > 0;
  }
}

const DOT_VERTEX = `
uniform float diameter, ratio;
void main() {
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  gl_PointSize = diameter * ratio;
}`;
const DOT_FRAGMENT = `
uniform vec3 colour;
uniform float diameter;
void main() {
  float away = 2.0 * distance(gl_PointCoord, vec2(0.5));
  if (away > 1.0) discard;
  gl_FragColor = vec4(away > 0.72 && diameter > 6.0 ? 0.35 * colour : colour, 1.0);
  #include <colorspace_fragment>
}`;

/** Round dots over everything else. */
export class Dots {
  constructor(diameter, colour, order) {
    const uniforms = { diameter: { value: diameter }, colour: { value: new Color(colour) }, ratio: { value: 1 }, size: { value: new Vector2() } };
    const material = new ShaderMaterial({ uniforms, vertexShader: DOT_VERTEX, fragmentShader: DOT_FRAGMENT, depthTest: false, depthWrite: false, transparent: true });
    this.object = new Points(new BufferGeometry(), material);
    this.object.renderOrder = order;
    this.object.frustumCulled = false;
    this.object.visible = false;
    follow(this.object, uniforms);
  }

  /** Shows a dot at each place (three numbers each), or none. */
  show(places) {
    this.object.visible = places.length > 0;
    if (!places.length) return;
    const { geometry } = this.object;
    const before = geometry.getAttribute('position');
    if (before && before.array.length >= places.length) { before.array.set(places); before.needsUpdate = true; }
    else {
      geometry.dispose();
      geometry.setAttribute('position', new BufferAttribute(Float32Array.from(places), 3));
    }
    geometry.setDrawRange(0, places.length / 3);
  }
}

/** Thin cylinders between two points each: rods, ropes, springs, the spring of the mouse. */
export class Bars {
  constructor(capacity, colour, sides = 10) {
    const geometry = new CylinderGeometry(1, 1, 1, sides, 1, sides < 8).rotateX(Math.PI / 2);
    this.object = tint(copies(geometry, capacity), colour);
    this.object.instanceMatrix.setUsage(DynamicDrawUsage);
    this.object.count = 0;
    this.object.visible = false;
    this.object.castShadow = true;
  }

  begin() { this.count = 0; }

  bar(from, to, radius) { this.between(from.x, from.y, from.z, to.x, to.y, to.z, radius); }

  /** Written out, because it runs for thousands of them in every frame. */
  between(ax, ay, az, bx, by, bz, radius) {
    const { array } = this.object.instanceMatrix;
    if (16 * this.count >= array.length) return;
    const x = bx - ax, y = by - ay, z = bz - az;
    const length = Math.sqrt(x * x + y * y + z * z);
    if (!(length > 1e-9)) return;
    // u is across the bar and level, or across it and x where it stands upright; v is across both
    const isUpright = Math.abs(z) > 0.9 * length;
    const px = isUpright ? 0 : -y, py = isUpright ? -z : x, pz = isUpright ? y : 0;
    const wide = radius / Math.sqrt(px * px + py * py + pz * pz);
    const ux = wide * px, uy = wide * py, uz = wide * pz;
    const k = 16 * this.count++;
    array[k] = ux; array[k + 1] = uy; array[k + 2] = uz; array[k + 3] = 0;
    array[k + 4] = (y * uz - z * uy) / length; array[k + 5] = (z * ux - x * uz) / length; array[k + 6] = (x * uy - y * ux) / length; array[k + 7] = 0;
    array[k + 8] = x; array[k + 9] = y; array[k + 10] = z; array[k + 11] = 0;
    array[k + 12] = 0.5 * (ax + bx); array[k + 13] = 0.5 * (ay + by); array[k + 14] = 0.5 * (az + bz); array[k + 15] = 1;
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

// Recordings (.lwr); the layout is in crates/io/src/recording.

import { STATS } from './protocol.js';
import { unpackOrientation } from './quantised.js';

const POSITION_STEPS = 65535;

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads a recording; throws an Error that says what is wrong. One that is cut off is read as far as it goes. */
export async function readRecording(bytes) {
  if (bytes.length < 4 || bytes[0] !== 0x4c || bytes[1] !== 0x57 || bytes[2] !== 0x52) throw new Error('This is no recording.');
  if (bytes[3] !== 1) throw new Error(`This is a recording of version ${bytes[3]}; this page reads version 1.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = new TextDecoder();
  let [description, events, blocks, complete] = [null, [], [], false];
  for (let at = 4; at + 9 <= bytes.length;) {
    const kind = String.fromCharCode(bytes[at]);
    const length = view.getUint32(at + 1, true);
    if (at + 9 + length > bytes.length) break;
    const content = await inflate(bytes.subarray(at + 9, at + 9 + length));
    if (kind === 'D') description = JSON.parse(text.decode(content));
    else if (kind === 'F' && description) blocks.push(readBlock(content, description.bodies.length));
    else if (kind === 'P' && blocks.length) readPoints(blocks[blocks.length - 1], content);
    else if (kind === 'E') events.push(...JSON.parse(text.decode(content)));
    else if (kind === 'Z') complete = true;
    at += 9 + length;
  }
  if (!description) throw new Error('The recording has no description of its scene.');
  return new Recording(description, blocks, events, complete);
}

/** A block of frames; numbers stay as they were written, 16 bits each, until they are shown. */
function readBlock(bytes, bodies) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint16(0, true);
  if (view.getUint32(2, true) !== bodies) throw new Error('Frames and scene do not fit together.');
  let at = 6;
  const times = new Float64Array(count);
  for (let k = 0; k < count; k++, at += 8) times[k] = view.getFloat64(at, true);
  const stats = STATS.map(() => {
    const column = new Float32Array(count);
    for (let k = 0; k < count; k++, at += 4) column[k] = view.getFloat32(at, true);
    return column;
  });
  const ranges = new Float32Array(6 * bodies);
  for (let k = 0; k < 6 * bodies; k++, at += 4) ranges[k] = view.getFloat32(at, true);
  const turning = [];
  for (let k = 0; k < bodies; k++, at += 7) {
    turning.push([bytes[at] !== 0, view.getUint16(at + 1, true), view.getUint16(at + 3, true), view.getUint16(at + 5, true)]);
  }
  const column = (first) => {
    const words = new Uint16Array(count);
    if (first !== undefined) return words.fill(first);
    let word = 0;
    for (let k = 0; k < count; k++) {
      word = (word + bytes[at + k] + (bytes[at + count + k] << 8)) & 0xffff;
      words[k] = word;
    }
    at += 2 * count;
    if (at > bytes.length) throw new Error('A block of frames ends too early.');
    return words;
  };
  const positions = [];
  for (let k = 0; k < 3 * bodies; k++) positions.push(ranges[2 * k + 1] > 0 ? column() : null);
  const orientations = turning.map(([turns, ...first]) => (turns ? [column(), column(), column()] : first.map((word) => column(word))));
  return { count, times, stats, ranges, positions, orientations };
}

/** Positions of particles of the frames of a block. */
function readPoints(block, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint16(0, true);
  const particles = view.getUint32(2, true);
  if (count !== block.count) throw new Error('Particles and frames do not fit together.');
  if (bytes.length !== 30 + 6 * count * particles) throw new Error('A block of particles is incomplete.');
  block.pointRanges = Array.from({ length: 6 }, (_, k) => view.getFloat32(6 + 4 * k, true));
  block.points = new Uint16Array(3 * particles * count);
  for (let k = 0, at = 30; k < 3 * particles; k++, at += 2 * count) {
    let word = 0;
    for (let frame = 0; frame < count; frame++) {
      word = (word + bytes[at + frame] + (bytes[at + count + frame] << 8)) & 0xffff;
      block.points[3 * particles * frame + k] = word;
    }
  }
}

/** A run that can be looked at at any time. */
export class Recording {
  constructor(description, blocks, events, complete) {
    Object.assign(this, { description, blocks, events, complete });
    this.index = [];
    blocks.forEach((block, b) => { for (let k = 0; k < block.count; k++) this.index.push([b, k]); });
    this.bodies = description.bodies.length;
    const size = this.bodies;
    this.particles = (description.particles ?? []).reduce((sum, system) => sum + system.count, 0);
    this.ends = [0, 1].map(() => ({ positions: new Float32Array(3 * size), orientations: new Float32Array(4 * size) }));
  }

  get length() { return this.index.length; }
  get start() { return this.length ? this.timeOf(0) : 0; }
  get end() { return this.length ? this.timeOf(this.length - 1) : 0; }

  timeOf(frame) {
    const [b, k] = this.index[frame];
    return this.blocks[b].times[k];
  }

  statsOf(frame) {
    const [b, k] = this.index[frame];
    return Object.fromEntries(STATS.map((name, s) => [name, this.blocks[b].stats[s][k]]));
  }

  /** The last frame that is not after a time. */
  frameBefore(time) {
    let [low, high] = [0, this.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.timeOf(middle) <= time + 1e-9) low = middle; else high = middle - 1;
    }
    return low;
  }

  poses(frame, out) {
    const [b, k] = this.index[frame];
    const { ranges, positions, orientations } = this.blocks[b];
    for (let i = 0; i < 3 * this.bodies; i++) {
      out.positions[i] = ranges[2 * i] + (positions[i] ? (ranges[2 * i + 1] * positions[i][k]) / POSITION_STEPS : 0);
    }
    for (let i = 0; i < this.bodies; i++) {
      const [x, y, z] = orientations[i];
      unpackOrientation(x[k], y[k], z[k], out.orientations, 4 * i);
    }
    return out;
  }

  /** A coordinate of a particle in a frame. */
  point(frame, i) {
    const [b, k] = this.index[frame];
    const { points, pointRanges } = this.blocks[b];
    return pointRanges[2 * (i % 3)] + (pointRanges[2 * (i % 3) + 1] * points[3 * this.particles * k + i]) / POSITION_STEPS;
  }

  /** The particles between two frames. */
  pointsBetween(before, after, part) {
    const has = (frame) => this.blocks[this.index[frame][0]].points?.length;
    if (!this.particles || !has(before) || !has(after)) return null;
    return Float32Array.from({ length: 3 * this.particles }, (_, i) => {
      const from = this.point(before, i);
      return from + part * (this.point(after, i) - from);
    });
  }

  /** The state at a time, between two frames where it falls between them. */
  at(time) {
    const before = this.frameBefore(time);
    const after = Math.min(before + 1, this.length - 1);
    const [t0, t1] = [this.timeOf(before), this.timeOf(after)];
    const part = t1 > t0 ? Math.min(1, Math.max(0, (time - t0) / (t1 - t0))) : 0;
    const [a, b] = [this.poses(before, this.ends[0]), this.poses(after, this.ends[1])];
    const n = this.bodies;
    const [positions, orientations, velocities] = [new Float32Array(3 * n), new Float32Array(4 * n), new Float32Array(3 * n)];
    for (let i = 0; i < 3 * n; i++) {
      positions[i] = a.positions[i] + part * (b.positions[i] - a.positions[i]);
      velocities[i] = t1 > t0 ? (b.positions[i] - a.positions[i]) / (t1 - t0) : 0;
    }
    for (let i = 0; i < 4 * n; i += 4) mix(a.orientations, b.orientations, i, part, orientations);
    return {
      count: n, time, steps: null, stats: this.statsOf(before), pace: null, playing: false, failed: false, scene: 0, revision: 0,
      positions, orientations, velocities, reactions: null, contacts: null, points: this.pointsBetween(before, after, part), joints: new Map(), twists: new Map(),
    };
  }
}

/** Between two orientations; they are close, so a straight line brought back to length one will do. */
function mix(a, b, i, part, out) {
  const dot = a[i] * b[i] + a[i + 1] * b[i + 1] + a[i + 2] * b[i + 2] + a[i + 3] * b[i + 3];
  const sign = dot < 0 ? -1 : 1;
  let length = 0;
  for (let k = i; k < i + 4; k++) {
    out[k] = (1 - part) * a[k] + part * sign * b[k];
    length += out[k] * out[k];
  }
  length = Math.sqrt(length) || 1;
  for (let k = i; k < i + 4; k++) out[k] /= length;
}

// Recordings (.lwr); the layout is in crates/io/src/recording.

import { CONTACT_NUMBERS, STATS, bits } from './protocol.js';
import { unpackOrientation } from './quantised.js';

const STEPS = 65535;
const VERSIONS = [1, 2];
/** Numbers of a joint in a frame: errors, wrench and its flag, and each coordinate. */
const [ERROR, REACTION, COORDINATE] = [2, 7, 5];
/** Numbers of a contact before its two bodies. */
const QUANTISED = CONTACT_NUMBERS - 2;

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads a recording; throws an Error that says what is wrong. One that is cut off is read as far as it goes. */
export async function readRecording(bytes) {
  if (bytes.length < 4 || bytes[0] !== 0x4c || bytes[1] !== 0x57 || bytes[2] !== 0x52) throw new Error('This is no recording.');
  if (!VERSIONS.includes(bytes[3])) throw new Error(`This is a recording of version ${bytes[3]}; this page reads versions ${VERSIONS.join(' and ')}.`);
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
    else if (kind === 'J' && blocks.length) blocks.at(-1).joints = readJoints(content, blocks.at(-1).count, jointColumns(description.joints).total);
    else if (kind === 'C' && blocks.length) blocks.at(-1).contacts = readContacts(content, blocks.at(-1).count);
    else if (kind === 'P' && blocks.length) readPoints(blocks[blocks.length - 1], content);
    else if (kind === 'S' && blocks.length) blocks.at(-1).sleeping = readSleeping(content, blocks.at(-1).count, description.bodies.length);
    else if (kind === 'E') events.push(...JSON.parse(text.decode(content)));
    else if (kind === 'Z') complete = true;
    at += 9 + length;
  }
  if (!description) throw new Error('The recording has no description of its scene.');
  return new Recording(description, blocks, events, complete, bytes[3]);
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
    if (first !== undefined) return new Uint16Array(count).fill(first);
    const words = readColumn(bytes, at, count);
    at += 2 * count;
    return words;
  };
  const positions = [];
  for (let k = 0; k < 3 * bodies; k++) positions.push(ranges[2 * k + 1] > 0 ? column() : null);
  const orientations = turning.map(([turns, ...first]) => (turns ? [column(), column(), column()] : first.map((word) => column(word))));
  return { count, times, stats, ranges, positions, orientations };
}

/** A column of differences from number to number: all low bytes, then all high bytes. */
function readColumn(bytes, at, count) {
  if (at + 2 * count > bytes.length) throw new Error('A block of the recording ends too early.');
  const words = new Uint16Array(count);
  let word = 0;
  for (let k = 0; k < count; k++) {
    word = (word + bytes[at + k] + (bytes[at + count + k] << 8)) & 0xffff;
    words[k] = word;
  }
  return words;
}

function readRanges(view, at, count) {
  const ranges = new Float32Array(2 * count);
  for (let k = 0; k < 2 * count; k++) ranges[k] = view.getFloat32(at + 4 * k, true);
  return ranges;
}

/** Where the numbers of every joint begin in a frame. */
function jointColumns(joints) {
  let total = 0;
  const starts = joints.map((joint) => {
    const start = total;
    total += ERROR + (joint.frame_a ? REACTION : 0) + COORDINATE * joint.coordinates.length;
    return start;
  });
  return { starts, total };
}

/** The numbers of the joints at the frames of a block, as they were written. */
function readJoints(bytes, count, total) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint16(0, true) !== count || view.getUint32(2, true) !== total) throw new Error('Joints and scene do not fit together.');
  const ranges = readRanges(view, 6, total);
  let at = 6 + 8 * total;
  const columns = Array.from({ length: total }, (_, k) => {
    if (!(ranges[2 * k + 1] > 0)) return null;
    const words = readColumn(bytes, at, count);
    at += 2 * count;
    return words;
  });
  return { ranges, columns };
}

/** The contacts at the frames of a block, as they were written: where those of each frame begin, and a column of words for each number. */
function readContacts(bytes, count) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint16(0, true) !== count) throw new Error('Contacts and frames do not fit together.');
  const starts = new Uint32Array(count + 1);
  for (let k = 0; k < count; k++) starts[k + 1] = starts[k] + view.getUint32(2 + 4 * k, true);
  const [total, head] = [starts[count], 2 + 4 * count];
  const ranges = readRanges(view, head, QUANTISED);
  let at = head + 8 * QUANTISED;
  const columns = Array.from({ length: QUANTISED + 4 }, () => {
    if (at + 2 * total > bytes.length) throw new Error('A block of contacts ends too early.');
    const words = new Uint16Array(total);
    for (let frame = 0; frame < count; frame++) {
      const [start, before] = [starts[frame], frame ? starts[frame - 1] : 0];
      const known = frame ? starts[frame] - before : 0;
      for (let k = start; k < starts[frame + 1]; k++) {
        const last = k - start < known ? words[before + k - start] : 0;
        words[k] = (last + bytes[at + k] + (bytes[at + total + k] << 8)) & 0xffff;
      }
    }
    at += 2 * total;
    return words;
  });
  return { starts, ranges, columns };
}

/** Which bodies sleep at the frames of a block: a bit each, frame by frame. */
function readSleeping(bytes, count, bodies) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const width = (bodies + 7) >> 3;
  if (view.getUint16(0, true) !== count || view.getUint32(2, true) !== bodies || bytes.length !== 6 + count * width) throw new Error('Sleepers and frames do not fit together.');
  const all = bytes.slice(6);
  for (let k = width; k < all.length; k++) all[k] ^= all[k - width];
  return all;
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
  constructor(description, blocks, events, complete, version) {
    Object.assign(this, { description, blocks, events, complete, version });
    this.index = [];
    blocks.forEach((block, b) => { for (let k = 0; k < block.count; k++) this.index.push([b, k]); });
    this.bodies = description.bodies.length;
    const size = this.bodies;
    this.joints = description.joints ?? [];
    this.starts = jointColumns(this.joints).starts;
    this.particles = (description.particles ?? []).reduce((sum, system) => sum + system.count, 0);
    this.ends = [0, 1].map(() => ({ positions: new Float32Array(3 * size), orientations: new Float32Array(4 * size) }));
  }

  /** Whether joints and contacts were recorded, where there were any. */
  get hasForces() { return this.version >= 2; }
  /** Whether it was recorded what sleeps. */
  get hasSleeping() { return this.blocks.every((block) => block.sleeping); }
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
      out.positions[i] = ranges[2 * i] + (positions[i] ? (ranges[2 * i + 1] * positions[i][k]) / STEPS : 0);
    }
    for (let i = 0; i < this.bodies; i++) {
      const [x, y, z] = orientations[i];
      unpackOrientation(x[k], y[k], z[k], out.orientations, 4 * i);
    }
    return out;
  }

  /** Number k of the joints at a frame. */
  jointNumber(frame, k) {
    const [b, at] = this.index[frame];
    const { ranges, columns } = this.blocks[b].joints;
    return ranges[2 * k] + (columns[k] ? (ranges[2 * k + 1] * columns[k][at]) / STEPS : 0);
  }

  /** Everything that was recorded of a joint; null if nothing was. */
  jointAt(frame, joint) {
    const described = this.joints[joint];
    if (!described || !this.blocks[this.index[frame][0]].joints) return null;
    let k = this.starts[joint];
    const next = () => this.jointNumber(frame, k++);
    const vector = () => [next(), next(), next()];
    const [errorM, errorRad] = [next(), next()];
    const wrench = described.frame_a ? { force: vector(), torque: vector(), unique: next() > 0.5 } : { force: [0, 0, 0], torque: [0, 0, 0], unique: true };
    const coordinates = described.coordinates.map(() => ({ value: next(), velocity: next(), limit: next(), friction: next(), motor: next() }));
    return { errorM, errorRad, ...wrench, coordinates };
  }

  /** Force of every joint, as frames of a running simulation have them. */
  reactionsAt(frame) {
    if (!this.blocks[this.index[frame][0]].joints) return null;
    const reactions = new Float32Array(3 * this.joints.length);
    this.joints.forEach(({ frame_a: hasFrame }, joint) => {
      if (!hasFrame) return;
      for (let i = 0; i < 3; i++) reactions[3 * joint + i] = this.jointNumber(frame, this.starts[joint] + ERROR + i);
    });
    return reactions;
  }

  contactsAt(frame) {
    const [b, at] = this.index[frame];
    const { contacts } = this.blocks[b];
    if (!contacts) return new Float32Array(0);
    const { starts, ranges, columns } = contacts;
    const numbers = new Float32Array(CONTACT_NUMBERS * (starts[at + 1] - starts[at]));
    for (let c = starts[at], out = 0; c < starts[at + 1]; c++, out += CONTACT_NUMBERS) {
      for (let k = 0; k < QUANTISED; k++) numbers[out + k] = ranges[2 * k] + (ranges[2 * k + 1] * columns[k][c]) / STEPS;
      for (const k of [0, 1]) numbers[out + QUANTISED + k] = columns[QUANTISED + 2 * k][c] + 65536 * columns[QUANTISED + 2 * k + 1][c] - 1;
    }
    return numbers;
  }

  /** A number for every body, 1 if it sleeps. */
  sleepingAt(frame) {
    const [b, k] = this.index[frame];
    const { sleeping } = this.blocks[b];
    const width = (this.bodies + 7) >> 3;
    return sleeping ? bits(sleeping.subarray(width * k, width * (k + 1)), this.bodies) : null;
  }

  /** A coordinate of a particle in a frame. */
  point(frame, i) {
    const [b, k] = this.index[frame];
    const { points, pointRanges } = this.blocks[b];
    return pointRanges[2 * (i % 3)] + (pointRanges[2 * (i % 3) + 1] * points[3 * this.particles * k + i]) / STEPS;
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

  /** The state at a time, between two frames where it falls between them; `watch` says what is needed besides poses. */
  at(time, watch = {}) {
    const before = this.frameBefore(time);
    const after = Math.min(before + 1, this.length - 1);
    const [t0, t1] = [this.timeOf(before), this.timeOf(after)];
    const part = t1 > t0 ? Math.min(1, Math.max(0, (time - t0) / (t1 - t0))) : 0;
    const [a, b] = [this.poses(before, this.ends[0]), this.poses(after, this.ends[1])];
    const n = this.bodies;
    const [positions, orientations] = [new Float32Array(3 * n), new Float32Array(4 * n)];
    for (let i = 0; i < 3 * n; i++) positions[i] = a.positions[i] + part * (b.positions[i] - a.positions[i]);
    for (let i = 0; i < 4 * n; i += 4) mix(a.orientations, b.orientations, i, part, orientations);
    const joints = new Map((watch.joints ?? []).map((joint) => [joint, this.jointAt(before, joint)]).filter(([, numbers]) => numbers));
    const motion = watch.velocities || watch.bodies?.length ? this.motionAt(before) : null;
    const twists = new Map((watch.bodies ?? []).map((body) => [body, motion.twist(body)]));
    return {
      count: n, time, steps: null, stats: this.statsOf(before), pace: null, playing: false, failed: false, scene: 0, revision: 0,
      positions, orientations, velocities: watch.velocities ? motion.velocities() : null, reactions: watch.reactions ? this.reactionsAt(before) : null, contacts: watch.contacts ? this.contactsAt(before) : null,
      sleeping: watch.sleeping ? this.sleepingAt(before) : null, points: this.pointsBetween(before, after, part), joints, twists,
    };
  }

  /** How bodies move from a frame to the next one, or to the last one from the frame before it. */
  motionAt(frame) {
    const from = Math.max(0, Math.min(frame, this.length - 2));
    const to = Math.min(from + 1, this.length - 1);
    const seconds = this.timeOf(to) - this.timeOf(from);
    const [a, b] = [this.poses(from, this.ends[0]), this.poses(to, this.ends[1])];
    const rate = (x0, x1) => (seconds > 0 ? (x1 - x0) / seconds : 0);
    const { bodies } = this.description;
    return {
      /** Of the origin of a body, and its spin, as frames of a running simulation have them. */
      twist: (body) => ({
        linear: [0, 1, 2].map((i) => rate(a.positions[3 * body + i], b.positions[3 * body + i])),
        angular: seconds > 0 ? spin(a.orientations, b.orientations, 4 * body, seconds) : [0, 0, 0],
      }),
      /** Of all centres of mass. */
      velocities: () => {
        const velocities = new Float32Array(3 * this.bodies);
        const [c0, c1] = [[0, 0, 0], [0, 0, 0]];
        for (let k = 0; k < this.bodies; k++) {
          centre(a, k, bodies[k].center, c0);
          centre(b, k, bodies[k].center, c1);
          for (let i = 0; i < 3; i++) velocities[3 * k + i] = rate(c0[i], c1[i]);
        }
        return velocities;
      },
    };
  }
}

/** Where a point of a body is. */
function centre({ positions, orientations }, body, [px, py, pz], out) {
  const x = orientations[4 * body], y = orientations[4 * body + 1], z = orientations[4 * body + 2], w = orientations[4 * body + 3];
  const tx = 2 * (y * pz - z * py), ty = 2 * (z * px - x * pz), tz = 2 * (x * py - y * px);
  out[0] = positions[3 * body] + px + w * tx + y * tz - z * ty;
  out[1] = positions[3 * body + 1] + py + w * ty + z * tx - x * tz;
  out[2] = positions[3 * body + 2] + pz + w * tz + x * ty - y * tx;
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

/** The angular velocity that leads from one orientation to the next, rad/s in world axes. */
function spin(a, b, i, seconds) {
  const [ax, ay, az, aw] = [-a[i], -a[i + 1], -a[i + 2], a[i + 3]];
  const [bx, by, bz, bw] = [b[i], b[i + 1], b[i + 2], b[i + 3]];
  const w = bw * aw - bx * ax - by * ay - bz * az;
  const turn = [bw * ax + bx * aw + by * az - bz * ay, bw * ay - bx * az + by * aw + bz * ax, bw * az + bx * ay - by * ax + bz * aw];
  const sine = Math.hypot(...turn);
  const angle = 2 * Math.atan2(sine, Math.abs(w)) * (w < 0 ? -1 : 1);
  return turn.map((c) => (sine > 0 ? (c / sine) * (angle / seconds) : 0));
}

// Frames of a running simulation; the layout is in crates/cli/src/view/frame.rs.

import { unpackOrientations } from './quantised.js';

export const STATS = [
  'kinetic', 'potential', 'elastic', 'joint_error_m', 'joint_error_rad', 'penetration_m', 'step_ms', 'joint_iterations', 'contact_iterations',
];
/** Of a contact: point, normal, force; in recordings also its depth and the two bodies. */
export const CONTACT_NUMBERS = 12;
const VERSION = 2;
const HEAD = 72;
/** Bytes before the contacts, and of each of them. */
const [CONTACTS_HEAD, CONTACT] = [36, 12];
const JOINT_NUMBERS = 11;
const COORDINATE_NUMBERS = 5;

/** The numbers that every frame begins with, or null if it is none. Frames that are never drawn need no more than these. */
export function decodeHead(buffer) {
  if (buffer.byteLength < HEAD) return null;
  const view = new DataView(buffer);
  if (view.getUint8(0) !== 0x4c || view.getUint8(1) !== VERSION) return null;
  const flags = view.getUint16(2, true);
  const stats = {};
  STATS.forEach((name, k) => { stats[name] = view.getFloat32(32 + 4 * k, true); });
  return {
    playing: (flags & 1) !== 0,
    failed: (flags & 2) !== 0,
    scene: view.getUint32(4, true),
    revision: view.getUint32(8, true),
    count: view.getUint32(12, true),
    time: view.getFloat64(16, true),
    steps: view.getFloat64(24, true),
    stats,
    pace: view.getFloat32(68, true),
  };
}

/** Decodes a frame, or returns null if it is none. `reuse` is an earlier frame whose orientations may be overwritten. */
export function decodeFrame(buffer, reuse) {
  const head = decodeHead(buffer);
  if (!head) return null;
  const view = new DataView(buffer);
  const frame = {
    ...head,
    positions: null,
    orientations: null,
    velocities: null,
    reactions: null,
    contacts: null,
    contactsInAll: 0,
    sleeping: null,
    points: null,
    joints: new Map(),
    twists: new Map(),
  };
  let at = HEAD;
  while (at + 8 <= buffer.byteLength) {
    const kind = view.getUint32(at, true);
    const length = view.getUint32(at + 4, true);
    at += 8;
    if (at + length > buffer.byteLength) return null;
    if (!section(frame, kind, buffer, view, at, length, reuse)) return null;
    at += (length + 3) & ~3;
  }
  return frame.positions ? frame : null;
}

function section(frame, kind, buffer, view, at, length, reuse) {
  const n = frame.count;
  switch (kind) {
    case 1: {
      if (length !== 18 * n) return false;
      frame.positions = new Float32Array(buffer, at, 3 * n);
      const words = new Uint16Array(buffer, at + 12 * n, 3 * n);
      frame.orientations = reuse?.orientations?.length === 4 * n ? reuse.orientations : new Float32Array(4 * n);
      unpackOrientations(words, n, frame.orientations);
      return true;
    }
    case 2:
      if (length !== 4 + 6 * n) return false;
      frame.velocities = vectors(view, at, length);
      return true;
    case 3:
      if ((length - 4) % 6) return false;
      frame.reactions = vectors(view, at, length);
      return true;
    case 4:
      return contacts(frame, view, at, length);
    case 8:
      if (length !== (n + 7) >> 3) return false;
      frame.sleeping = bits(new Uint8Array(buffer, at, length), n);
      return true;
    case 5:
      return watchedJoints(frame.joints, view, at, length);
    case 6:
      return watchedBodies(frame.twists, view, at, length);
    case 7:
      if (length % 12) return false;
      frame.points = new Float32Array(buffer, at, length / 4);
      return true;
    default:
      return true; // of a newer server
  }
}

/** Vectors in whole units: the unit, then three numbers each. */
function vectors(view, at, length) {
  const unit = view.getFloat32(at, true);
  const words = new Int16Array(view.buffer, at + 4, (length - 4) / 2);
  const numbers = new Float32Array(words.length);
  for (let k = 0; k < words.length; k++) numbers[k] = unit * words[k];
  return numbers;
}

/** The contacts that were sent, the strongest of all, as recordings have them but for depth and bodies; see crates/cli/src/view/contacts.rs. */
function contacts(frame, view, at, length) {
  if (length < CONTACTS_HEAD) return false;
  const count = view.getUint32(at + 4, true);
  if (length !== CONTACTS_HEAD + CONTACT * count) return false;
  const real = (k) => view.getFloat32(at + k, true);
  const [x, y, z, width, depth, height, unit] = [8, 12, 16, 20, 24, 28, 32].map(real);
  const numbers = new Float32Array(CONTACT_NUMBERS * count);
  for (let k = 0, from = at + CONTACTS_HEAD, to = 0; k < count; k++, from += CONTACT, to += CONTACT_NUMBERS) {
    numbers[to] = x + (width * view.getUint16(from, true)) / 65535;
    numbers[to + 1] = y + (depth * view.getUint16(from + 2, true)) / 65535;
    numbers[to + 2] = z + (height * view.getUint16(from + 4, true)) / 65535;
    unfold(view.getInt8(from + 6), view.getInt8(from + 7), 1, numbers, to + 3);
    unfold(view.getInt8(from + 8), view.getInt8(from + 9), unit * view.getUint16(from + 10, true), numbers, to + 6);
  }
  frame.contacts = numbers;
  frame.contactsInAll = view.getUint32(at, true);
  return true;
}

/** A direction from the square that an octahedron was folded into, in a length. */
function unfold(u, v, length, out, at) {
  let [x, y] = [u / 127, v / 127];
  const z = 1 - Math.abs(x) - Math.abs(y);
  if (z < 0) [x, y] = [(1 - Math.abs(y)) * (x < 0 ? -1 : 1), (1 - Math.abs(x)) * (y < 0 ? -1 : 1)];
  const scale = length / Math.sqrt(x * x + y * y + z * z);
  out[at] = scale * x;
  out[at + 1] = scale * y;
  out[at + 2] = scale * z;
}

/** A number for every bit, the lowest of a byte first. */
export function bits(bytes, count) {
  const numbers = new Uint8Array(count);
  for (let k = 0; k < count; k++) numbers[k] = (bytes[k >> 3] >> (k & 7)) & 1;
  return numbers;
}

function watchedJoints(joints, view, at, length) {
  const end = at + length;
  const real = (k) => view.getFloat32(k, true);
  const vector = (k) => [real(k), real(k + 4), real(k + 8)];
  while (at + 4 * JOINT_NUMBERS <= end) {
    const joint = view.getUint32(at, true);
    const count = view.getUint32(at + 4, true);
    if (at + 4 * (JOINT_NUMBERS + COORDINATE_NUMBERS * count) > end) return false;
    const coordinates = [];
    let c = at + 4 * JOINT_NUMBERS;
    for (let k = 0; k < count; k++, c += 4 * COORDINATE_NUMBERS) {
      coordinates.push({ value: real(c), velocity: real(c + 4), limit: real(c + 8), friction: real(c + 12), motor: real(c + 16) });
    }
    joints.set(joint, {
      errorM: real(at + 8), errorRad: real(at + 12), force: vector(at + 16), torque: vector(at + 28), unique: real(at + 40) !== 0, coordinates,
    });
    at = c;
  }
  return at === end;
}

function watchedBodies(twists, view, at, length) {
  if (length % 28) return false;
  for (const end = at + length; at < end; at += 28) {
    const real = (k) => view.getFloat32(at + 4 * k, true);
    twists.set(view.getUint32(at, true), { linear: [real(1), real(2), real(3)], angular: [real(4), real(5), real(6)] });
  }
  return true;
}

// What is drawn over the bodies: joints, velocities, forces, contacts, nails, the mouse.

import { Color, Matrix4, Quaternion, SphereGeometry, Vector3 } from 'three';
import { thickness } from './geometry.js';
import { copies, tint } from './material.js';
import { numberOf } from './places.js';
import { CONTACT_NUMBERS } from './protocol.js';
import { Bars, Dots, Lines } from './lines.js';

const AXIS = new Color('#ff8c1a');
const RGB = ['#e5484d', '#30a46c', '#3e7bfa'].map((c) => new Color(c));
const VELOCITY = new Color('#00a6c8');
const REACTION = new Color('#d6336c');
const NORMAL = new Color('#2f9e44');
const FORCE = new Color('#e03131');
const HAS_AXIS = new Set(['hinge', 'slider', 'cylindrical', 'planar', 'universal', 'screw', 'point_on_line', 'point_on_plane']);
const IS_BAR = new Set(['distance', 'rope']);
/** Joints whose point stays where it is on both bodies: where one of them is the world, something must be seen to hold the other. */
const HAS_POINT = new Set(['ball', 'hinge', 'universal', 'distance', 'rope']);
/** Joints that let a point go along a line. */
const HAS_LINE = new Set(['slider', 'cylindrical', 'screw', 'point_on_line']);
const HELD = '#94948e';

// used again for every joint of every frame, of which there are thousands
const [TURN, SHIFT, TIP, FROM, AXES] = [new Quaternion(), new Vector3(), new Vector3(), new Vector3(), [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)]];

export class Overlays {
  constructor(scene) {
    this.scene = scene;
    this.shown = { joints: false, frames: false, velocities: false, reactions: false, contacts: false, sleeping: false };
    this.lines = new Lines();
    this.jointDots = new Dots(9, AXIS, 11);
    this.nailDots = new Dots(13, '#d6336c', 12);
    this.contactDots = new Dots(5, FORCE, 12);
    this.mouse = new Bars(1, '#ff3d7f');
    this.mouse.object.castShadow = false;
    this.grip = null;
    this.largest = { velocity: 1e-9, reaction: 1e-9, contact: 1e-9 };
    scene.add(this.lines.object, this.jointDots.object, this.nailDots.object, this.contactDots.object, this.mouse.object);
    this.bars = null;
    this.joints = [];
  }

  /** A new scene, or new joints in it. */
  describe(description, size) {
    this.size = size;
    this.joints = description.joints ?? [];
    this.nails = description.nails ?? [];
    const systems = description.particles ?? [];
    this.nailedParticles = (description.nailed_particles ?? []).map((place) => numberOf(systems, place)).filter((number) => number !== null);
    this.bodies = description.bodies;
    this.bars?.dispose();
    this.bars = new Bars(this.joints.filter((j) => IS_BAR.has(j.kind)).length, '#8a7f70');
    this.scene.add(this.bars.object);
    this.alwaysShown = this.joints.map((_, k) => k).filter((k) => IS_BAR.has(this.joints[k].kind) || this.nails.includes(k));
    this.everyJoint = this.joints.map((_, k) => k);
    this.holdInWorld(description);
    this.largest = { velocity: 1e-9, reaction: 1e-9, contact: 1e-9 };
    this.anchors = new Float32Array(3 * this.joints.length);
    // couplings are nowhere
    this.dots = new Float32Array(3 * this.joints.filter((joint) => joint.frame_b).length);
    this.selectedJoint = null;
  }

  /** A ball wherever the world holds a point of a body. */
  holdInWorld({ joints, bodies }) {
    this.studs?.geometry.dispose();
    this.studs?.material.dispose();
    this.studs?.removeFromParent();
    const held = joints.filter((joint, k) => HAS_POINT.has(joint.kind) && (joint.a === null) !== (joint.b === null) && !this.nails.includes(k));
    this.studs = tint(copies(new SphereGeometry(1, 16, 10), held.length), HELD);
    this.studs.count = held.length;
    this.studs.visible = held.length > 0;
    this.studs.castShadow = true;
    held.forEach((joint, k) => {
      const [at, body] = joint.a === null ? [joint.frame_a, bodies[joint.b]] : [joint.frame_b, bodies[joint.a]];
      const radius = Math.min(0.03 * this.size, Math.max(0.012 * this.size, 0.75 * thickness(body.shapes)));
      this.studs.setMatrixAt(k, new Matrix4().makeScale(radius, radius, radius).setPosition(...at.position));
    });
    this.scene.add(this.studs);
    this.layRails(joints.filter((joint) => HAS_LINE.has(joint.kind) && (joint.a === null) !== (joint.b === null)));
  }

  /** A thin rail wherever the world guides a point of a body along a line: as long as its limits let it go, or half the scene to both sides. */
  layRails(guides) {
    this.rails?.dispose();
    this.rails = new Bars(guides.length, HELD);
    this.rails.begin();
    for (const { a, frame_a: onA, frame_b: onB, coordinates } of guides) {
      const { position, orientation: [w, x, y, z] } = a === null ? onA : onB;
      const along = new Vector3(0, 0, 1).applyQuaternion(TURN.set(x, y, z, w));
      const limit = coordinates.find((coordinate) => !coordinate.is_angle)?.acting.limit;
      // what moves is b; seen from there a moves the other way
      const [low, high] = a === null ? [limit?.min, limit?.max] : [-limit?.max, -limit?.min];
      const end = (value, otherwise) => (Number.isFinite(value) && Math.abs(value) < 3 * this.size ? value : otherwise);
      const at = new Vector3(...position);
      this.rails.bar(at.clone().addScaledVector(along, end(low, -0.5 * this.size)), at.clone().addScaledVector(along, end(high, 0.5 * this.size)), 0.005 * this.size);
    }
    this.rails.end();
    this.scene.add(this.rails.object);
  }

  /** A frame on a body (or the world), now. */
  static placed(frame, body, local, position, orientation) {
    const { position: p, orientation: q } = local;
    position.set(p[0], p[1], p[2]);
    orientation.set(q[1], q[2], q[3], q[0]);
    if (body === null || body === undefined || body >= frame.count) return;
    TURN.fromArray(frame.orientations, 4 * body);
    position.applyQuaternion(TURN).add(SHIFT.fromArray(frame.positions, 3 * body));
    orientation.premultiply(TURN);
  }

  update(frame) {
    const { lines, shown } = this;
    lines.begin();
    this.bars?.begin();
    const [pa, qa, pb, qb] = [new Vector3(), new Quaternion(), new Vector3(), new Quaternion()];
    const reach = 0.06 * this.size;
    const needsJoints = shown.joints || shown.frames || shown.reactions || this.selectedJoint !== null;
    const reactions = shown.reactions && frame.reactions?.length === 3 * this.joints.length ? frame.reactions : null;
    const scale = reactions ? this.arrowScale('reaction', reactions, 3) : 0;
    const nails = [];
    let dots = 0;
    for (const k of needsJoints ? this.everyJoint : this.alwaysShown) {
      const joint = this.joints[k];
      const isBar = IS_BAR.has(joint.kind);
      const isNail = this.nails.length > 0 && this.nails.includes(k);
      if (!joint.frame_b) continue;
      Overlays.placed(frame, joint.b, joint.frame_b, pb, qb);
      pb.toArray(this.anchors, 3 * k);
      if (shown.joints) pb.toArray(this.dots, 3 * dots++);
      if (isNail) nails.push(pb.x, pb.y, pb.z);
      if (isBar || shown.frames) Overlays.placed(frame, joint.a, joint.frame_a, pa, qa);
      if (isBar) this.bars.bar(pa, pb, 0.004 * this.size);
      const chosen = k === this.selectedJoint;
      if ((shown.joints || chosen) && HAS_AXIS.has(joint.kind)) {
        TIP.set(0, 0, chosen ? 2 * reach : reach).applyQuaternion(qb);
        lines.segment(pb.x - TIP.x, pb.y - TIP.y, pb.z - TIP.z, pb.x + TIP.x, pb.y + TIP.y, pb.z + TIP.z, AXIS);
      }
      if (shown.frames || chosen) {
        if (chosen && !shown.frames) Overlays.placed(frame, joint.a, joint.frame_a, pa, qa);
        this.axes(pa, qa, 0.9 * reach);
        this.axes(pb, qb, 0.6 * reach);
      }
      if (reactions) {
        TIP.fromArray(reactions, 3 * k).multiplyScalar(scale);
        if (TIP.lengthSq() > 1e-6 * this.size * this.size * 1e-2) lines.arrow(pb, TIP.add(pb), REACTION);
      }
    }
    for (const k of frame.points ? this.nailedParticles : []) nails.push(...frame.points.subarray(3 * k, 3 * k + 3));
    if (shown.velocities && frame.velocities) this.velocities(frame);
    if (shown.contacts && frame.contacts) this.contacts(frame.contacts);
    lines.end();
    this.bars?.end();
    this.jointDots.show(shown.joints ? this.dots : []);
    this.nailDots.show(nails);
    this.contactDots.show(shown.contacts && frame.contacts ? this.contactPlaces(frame.contacts) : []);
    this.mouse.begin();
    if (this.grip) this.mouse.bar(this.grip.from(frame), this.grip.target, 0.005 * this.size);
    this.mouse.end();
  }

  /** The axes of a frame. */
  axes(p, q, length) {
    for (let i = 0; i < 3; i++) {
      TIP.copy(AXES[i]).applyQuaternion(q).multiplyScalar(length).add(p);
      this.lines.segment(p.x, p.y, p.z, TIP.x, TIP.y, TIP.z, RGB[i]);
    }
  }

  /** The longest arrow is a third of the scene; it shrinks slowly when forces get smaller. */
  arrowScale(name, numbers, stride) {
    let largest = 0;
    for (let k = 0; k + 2 < numbers.length; k += stride) largest = Math.max(largest, numbers[k] * numbers[k] + numbers[k + 1] * numbers[k + 1] + numbers[k + 2] * numbers[k + 2]);
    this.largest[name] = Math.max(Math.sqrt(largest), 0.995 * this.largest[name]);
    return (0.33 * this.size) / this.largest[name];
  }

  velocities(frame) {
    const scale = this.arrowScale('velocity', frame.velocities, 3);
    for (let k = 0; k < this.bodies.length; k++) {
      const { kind, center } = this.bodies[k];
      if (kind === 'static') continue;
      TIP.fromArray(frame.velocities, 3 * k).multiplyScalar(scale);
      if (TIP.lengthSq() <= 1e-6 * this.size * this.size) continue;
      FROM.set(center[0], center[1], center[2]).applyQuaternion(TURN.fromArray(frame.orientations, 4 * k)).add(SHIFT.fromArray(frame.positions, 3 * k));
      this.lines.arrow(FROM, TIP.add(FROM), VELOCITY);
    }
  }

  /** Point, normal and force of every contact. */
  contacts(numbers) {
    const scale = this.arrowScale('contact', numbers.subarray(6), CONTACT_NUMBERS);
    const short = 0.03 * this.size;
    for (let k = 0; k + CONTACT_NUMBERS <= numbers.length; k += CONTACT_NUMBERS) {
      FROM.fromArray(numbers, k);
      this.lines.arrow(FROM, TIP.fromArray(numbers, k + 3).multiplyScalar(short).add(FROM), NORMAL);
      this.lines.arrow(FROM, TIP.fromArray(numbers, k + 6).multiplyScalar(scale).add(FROM), FORCE);
    }
  }

  contactPlaces(numbers) {
    const length = (3 * numbers.length) / CONTACT_NUMBERS;
    if (!(this.places?.length >= length)) this.places = new Float32Array(2 * length);
    for (let from = 0, to = 0; to < length; from += CONTACT_NUMBERS, to += 3) {
      this.places[to] = numbers[from];
      this.places[to + 1] = numbers[from + 1];
      this.places[to + 2] = numbers[from + 2];
    }
    return this.places.subarray(0, length);
  }
}

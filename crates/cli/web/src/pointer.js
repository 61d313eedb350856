// The mouse and fingers: click selects, dragging a body pulls it, dragging anything else moves the camera.

import { Plane, Quaternion, Raycaster, Vector2, Vector3 } from 'three';
import { numberOf, placeOf, samePlace } from './places.js';

/** Farther than this, in pixels, a press is no click. */
const CLICK = 5;
/** So near to a joint's dot, in pixels, a click means the joint. */
const NEAR = 12;

export class Pointer {
  /** `act` has select(body, point), selectJoint(joint), follow(body), drag(body, point, target), dragParticle(particle, target), release(), nail(body, point), nailParticle(particle), createParticle(target, to), attachParticle(particle, to, body), tell(text). */
  constructor(stage, overlays, act) {
    Object.assign(this, { stage, overlays, act, bodies: null, systems: [], revision: 0, next: null, frame: null, canDrag: false });
    this.caster = new Raycaster();
    this.place = new Vector2();
    this.last = null;
    this.marked = null;
    const { canvas } = stage;
    canvas.addEventListener('pointerdown', (event) => this.down(event), { capture: true });
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.up(event));
    canvas.addEventListener('pointercancel', () => this.letGo());
    canvas.addEventListener('dblclick', (event) => { const hit = this.hit(event); if (hit) act.follow(hit.body); });
  }

  /** Systems of particles have changed; numbers in the frame that is shown are those of the systems before until a newer frame is here. */
  describe(systems, revision) {
    this.next = { systems, revision };
    if (!this.frame || this.frame.revision >= revision) this.takeOver();
  }

  /** A new frame is shown. */
  show(frame) {
    this.frame = frame;
    if (this.next && frame.revision >= this.next.revision) this.takeOver();
  }

  takeOver() {
    Object.assign(this, this.next);
    this.next = null;
  }

  aim(event) {
    const box = this.stage.canvas.getBoundingClientRect();
    this.place.set(((event.clientX - box.left) / box.width) * 2 - 1, 1 - ((event.clientY - box.top) / box.height) * 2);
    this.caster.setFromCamera(this.place, this.stage.camera);
  }

  /** The body under the pointer, and where it is touched. */
  hit(event) {
    if (!this.bodies || !this.frame) return null;
    this.aim(event);
    const [nearest] = this.caster.intersectObjects(this.bodies.meshes, false);
    if (!nearest) return null;
    const body = nearest.object.userData.owner[nearest.instanceId];
    return { body, at: nearest.point, point: this.toBody(body, nearest.point) };
  }

  toBody(body, at) {
    const turn = new Quaternion().fromArray(this.frame.orientations, 4 * body).invert();
    return at.clone().sub(new Vector3().fromArray(this.frame.positions, 3 * body)).applyQuaternion(turn);
  }

  fromBody(frame, body, point) {
    const turn = new Quaternion().fromArray(frame.orientations, 4 * body);
    return point.clone().applyQuaternion(turn).add(new Vector3().fromArray(frame.positions, 3 * body));
  }

  jointNear(event) {
    if (!this.overlays.shown.joints) return null;
    const box = this.stage.canvas.getBoundingClientRect();
    let [best, distance] = [null, NEAR];
    const at = new Vector3();
    this.overlays.joints.forEach((joint, k) => {
      if (!joint.frame_b) return;
      at.fromArray(this.overlays.anchors, 3 * k).project(this.stage.camera);
      const [x, y] = [((at.x + 1) / 2) * box.width + box.left, ((1 - at.y) / 2) * box.height + box.top];
      const away = Math.hypot(x - event.clientX, y - event.clientY);
      if (at.z < 1 && away < distance) [best, distance] = [k, away];
    });
    return best;
  }

  /** The particle under the pointer that is nearest to the eye, unless a body is before it. */
  particleNear(event, hit) {
    const points = this.frame?.points;
    if (!points) return null;
    const box = this.stage.canvas.getBoundingClientRect();
    const { camera } = this.stage;
    const [at, shown] = [new Vector3(), new Vector3()];
    const limit = hit ? camera.position.distanceTo(hit.at) * 1.02 : Infinity;
    let [best, nearest] = [null, Infinity];
    for (let k = 0; k < points.length; k += 3) {
      at.fromArray(points, k);
      shown.copy(at).project(camera);
      const [x, y] = [((shown.x + 1) / 2) * box.width + box.left, ((1 - shown.y) / 2) * box.height + box.top];
      const away = Math.hypot(x - event.clientX, y - event.clientY);
      const depth = camera.position.distanceTo(at);
      // of several under the pointer the one before the others, of several beside each other the nearest
      const rank = depth + (away / NEAR) * 0.05 * depth;
      if (shown.z < 1 && away < NEAR && depth < limit && rank < nearest) [best, nearest] = [{ number: k / 3, at: at.clone() }, rank];
    }
    const particle = best && placeOf(this.systems, best.number);
    return particle && { particle, at: best.at };
  }

  /** Where a particle is now, by its place; null if it is no more. */
  whereIs(frame, particle) {
    const number = numberOf(this.systems, particle);
    return number === null || !frame?.points || 3 * number >= frame.points.length ? null : new Vector3().fromArray(frame.points, 3 * number);
  }

  down(event) {
    this.press = { x: event.clientX, y: event.clientY, button: event.button };
    if (event.button !== 0 || !event.isPrimary) { this.letGo(); return; }
    const hit = this.hit(event);
    this.press.hit = hit;
    this.press.joint = this.jointNear(event);
    this.press.particle = this.particleNear(event, hit);
    if (this.press.particle && this.canDrag && !event.shiftKey) {
      this.hold(event, { ...this.press.particle, moved: false });
      return;
    }
    if (!hit || !this.canDrag || event.shiftKey || this.bodies.bodies[hit.body].mass === null) return;
    this.hold(event, { body: hit.body, point: hit.point, at: hit.at, moved: false });
  }

  /** The camera keeps still while something is held. */
  hold(event, held) {
    this.stage.controls.enabled = false;
    try { this.stage.canvas.setPointerCapture(event.pointerId); } catch { /* a pointer that a test made up */ }
    const facing = this.stage.camera.getWorldDirection(new Vector3());
    this.held = { ...held, plane: new Plane().setFromNormalAndCoplanarPoint(facing, held.at) };
  }

  move(event) {
    this.last = event;
    const held = this.held;
    if (!held) return;
    if (!held.moved && Math.hypot(event.clientX - this.press.x, event.clientY - this.press.y) < CLICK) return;
    held.moved = true;
    this.aim(event);
    const target = this.caster.ray.intersectPlane(held.plane, new Vector3());
    if (!target) return;
    this.stage.dirty = true;
    if (held.particle !== undefined) {
      const { particle } = held;
      this.overlays.grip = { from: (frame) => this.whereIs(frame, particle) ?? target, target };
      this.act.dragParticle(particle, target.toArray());
      return;
    }
    this.overlays.grip = { from: (frame) => this.fromBody(frame, held.body, held.point), target };
    this.act.drag(held.body, held.point.toArray(), target.toArray());
  }

  up(event) {
    const press = this.press;
    const still = press && Math.hypot(event.clientX - press.x, event.clientY - press.y) < CLICK;
    if (press && still && press.button === 0) {
      if (event.shiftKey && press.particle) this.act.nailParticle(press.particle.particle);
      else if (event.shiftKey && press.hit) this.act.nail(press.hit.body, press.hit.point.toArray());
      else if (press.joint !== null) this.act.selectJoint(press.joint);
      else if (press.hit) this.act.select(press.hit.body, press.hit.point);
      else this.act.select(null, null);
    }
    this.letGo();
  }

  letGo() {
    if (this.held?.moved) this.act.release();
    this.held = null;
    this.press = null;
    this.overlays.grip = null;
    this.stage.controls.enabled = true;
    this.stage.dirty = true;
  }

  /** Makes a particle under the cursor, at the depth of what is marked, touched or looked at, hung on the marked one. */
  createHere() {
    if (!this.last || !this.canDrag) return;
    const hit = this.hit(this.last);
    const marked = this.markedAt();
    const facing = this.stage.camera.getWorldDirection(new Vector3());
    const through = marked ?? this.stage.controls.target;
    this.aim(this.last);
    const free = this.caster.ray.intersectPlane(new Plane().setFromNormalAndCoplanarPoint(facing, through), new Vector3());
    const target = marked ? free : (hit?.at ?? free);
    if (!target) return;
    this.act.createParticle(target.toArray(), marked ? this.marked : null);
    this.mark(null);
  }

  /** Marks the particle under the cursor; if one is marked, attaches it to what is under the cursor. */
  attachHere() {
    if (!this.last || !this.canDrag) return;
    const hit = this.hit(this.last);
    const near = this.particleNear(this.last, hit);
    if (this.marked === null) {
      this.mark(near ? near.particle : null);
      this.act.tell(near ? 'Marked. Press A over another particle or a body to attach it, or B to hang a new one on it.' : 'There is no particle under the cursor.');
      return;
    }
    if (near && !samePlace(near.particle, this.marked)) this.act.attachParticle(this.marked, near.particle, null);
    else if (hit && !near) this.act.attachParticle(this.marked, null, hit.body);
    else this.act.tell('No longer marked.');
    this.mark(null);
  }

  mark(particle) {
    this.marked = particle;
    this.stage.dirty = true;
  }

  markedAt() {
    return this.marked === null ? null : this.whereIs(this.frame, this.marked);
  }

  /** Nails what is under the cursor. */
  nailHere() {
    const hit = this.last && this.hit(this.last);
    const near = this.last && this.particleNear(this.last, hit);
    if (near) this.act.nailParticle(near.particle);
    else if (hit) this.act.nail(hit.body, hit.point.toArray());
  }
}

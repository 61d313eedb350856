// Everything that live simulations and recordings have in common: the picture, the panels and what is selected.

import { Vector3 } from 'three';
import { Bodies } from './bodies.js';
import { Charts } from './charts.js';
import { find, make, notify, recall, remember } from './dom.js';
import { figure } from './format.js';
import { Inspector } from './inspector.js';
import { Overlays } from './overlays.js';
import { Particles } from './particles.js';
import { Pointer } from './pointer.js';
import { CONTACT_NUMBERS } from './protocol.js';
import { Stage } from './stage.js';

const CHART_PERIOD = 18; // ms, of one of them; all are drawn in five times that
const LIGHT_PERIOD = 12; // frames
/** What is known of the future is worth showing so far from what is there now, by the size of that. */
const FARTHEST_AHEAD = 0.7;
const TOGGLES = [
  ['joints', 'joints'], ['frames', 'joint frames'], ['velocities', 'velocities'], ['reactions', 'reactions'], ['contacts', 'contacts'], ['sleeping', 'sleeping'], ['shadows', 'shadows'],
];

export class View {
  /** `act` is what the model does: drag, release, nail, pullNails, motor, watch. */
  constructor(act, isLive) {
    this.act = act;
    this.stage = new Stage(find('canvas'));
    this.overlays = new Overlays(this.stage.scene);
    this.charts = new Charts(find('charts'));
    this.inspector = new Inspector(find('inspector'), {
      select: (body) => this.select(body),
      selectJoint: (joint) => this.selectJoint(joint),
      follow: (body) => this.follow(body),
      motor: act.motor,
      nail: (body) => act.nail(body, this.touched?.body === body ? this.touched.point : this.description.bodies[body].center),
      pullNails: act.pullNails,
    }, isLive);
    this.pointer = new Pointer(this.stage, this.overlays, {
      select: (body, point) => this.touch(body, point), selectJoint: (joint) => this.selectJoint(joint), follow: (body) => this.follow(body),
      drag: act.drag, dragParticle: act.dragParticle, release: act.release, nail: act.nail, nailParticle: act.nailParticle,
      createParticle: act.createParticle, attachParticle: act.attachParticle, tell: act.tell,
    });
    this.pointer.canDrag = isLive;
    this.selected = { body: null, joint: null };
    this.touched = null;
    this.followed = null;
    this.history = { times: [], rows: [] };
    [this.chartAt, this.chart, this.chartsDue] = [0, 0, 0];
    this.metrics = { frames: 0, scriptMs: 0, worstMs: 0, firstPictureMs: null };
    this.controls();
    requestAnimationFrame(() => this.loop());
  }

  controls() {
    const style = find('style');
    style.onchange = () => { this.setStyle(style.value); this.redraw(); };
    const colouring = find('colouring');
    colouring.onchange = () => { if (this.bodies) { this.bodies.colouring = colouring.value; this.bodies.paint(); this.redraw(); } };
    for (const [key, label] of TOGGLES) {
      const box = make('input', { type: 'checkbox', id: `toggle-${key}`, checked: key === 'shadows', onchange: () => this.toggle(key, box.checked) });
      find('toggles').append(make('label', {}, box, label));
    }
    find('home').onclick = () => this.home();
    find('follow').onclick = () => this.follow(this.followed === null ? this.selected.body : null);
    find('shot').onclick = () => this.stage.screenshot(this.description?.name || 'linkwork');
    find('theme').onclick = () => this.setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    const preferred = window.matchMedia?.('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
    this.setTheme(recall('theme') ?? preferred, false);
    const sheet = (name, other) => () => { document.body.classList.toggle(`${name}-open`); document.body.classList.remove(`${other}-open`); };
    find('open-left').onclick = sheet('left', 'right');
    find('open-right').onclick = sheet('right', 'left');
  }

  setTheme(name, keep = true) {
    document.documentElement.dataset.theme = name;
    this.stage.setTheme(name);
    this.charts.readColours();
    this.drawCharts(true);
    if (keep) remember('theme', name);
  }

  /** A recording of an older version has no forces. */
  withoutForces(why) {
    this.inspector.hasForces = false;
    this.cannotShow(['reactions', 'contacts'], why);
  }

  cannotShow(keys, why) {
    for (const key of keys) {
      find(`toggle-${key}`).disabled = true;
      find(`toggle-${key}`).parentElement.title = why;
    }
  }

  toggle(key, on) {
    if (find(`toggle-${key}`).disabled) return;
    find(`toggle-${key}`).checked = on;
    if (key === 'shadows') this.stage.renderer.shadowMap.enabled = on;
    if (key === 'shadows') this.stage.sun.castShadow = on;
    else this.overlays.shown[key] = on;
    this.watch();
    this.redraw();
  }

  /** What the engine collides with is made when somebody wants to see it. */
  setStyle(style) {
    if (!this.bodies) return;
    this.bodies.setStyle(style);
    const { description } = this;
    if (style === 'hulls' && description.collides === false) notify('Nothing collides in this scene (collisions = false).');
    if (style === 'hulls' && description.collides === undefined) notify('This recording does not say what collides.');
    const wanted = style === 'hulls' && description.collides === true;
    if (wanted && !this.pieces) {
      this.pieces = new Bodies(description, true);
      this.pieces.select(this.selected.body);
      this.pieces.setStyle('solid');
      if (this.frame) this.pieces.place(this.frame);
      if (this.pieces.meshes.length) this.stage.scene.add(...this.pieces.meshes);
    }
    if (!wanted) { this.pieces?.dispose(); this.pieces = null; }
  }

  /** Tells the model what has to be sent. */
  watch() {
    const { body, joint } = this.selected;
    const { velocities, reactions, contacts, sleeping } = this.overlays.shown;
    this.act.watch({ bodies: body === null ? [] : [body], joints: joint === null ? [] : [joint], velocities, reactions, contacts, sleeping });
  }

  /** A new scene; the camera looks at all of it when its first frame is there. */
  describe(description) {
    this.description = description;
    this.bodies?.dispose();
    this.pieces?.dispose();
    this.pieces = null;
    this.bodies = new Bodies(description);
    this.bodies.colouring = find('colouring').value;
    this.bodies.paint();
    if (this.bodies.meshes.length) this.stage.scene.add(...this.bodies.meshes);
    this.describeParticles(description);
    [this.pointer.bodies, this.pointer.frame] = [this.bodies, null];
    this.pointer.describe(description.particles ?? [], description.revision ?? 0);
    this.pointer.letGo();
    this.pointer.mark(null);
    this.inspector.describe(description);
    [this.frame, this.pending] = [null, null];
    this.select(null);
    this.follow(null);
    this.setStyle(find('style').value);
    find('title').textContent = description.name || 'Linkwork';
    document.title = `${description.name || 'scene'} · Linkwork`;
  }

  describeParticles(description) {
    this.particles?.dispose();
    this.particles = new Particles(description.particles ?? []);
    if (this.frame) this.particles.setScale(this.stage.radius);
    if (this.particles.objects.length) this.stage.scene.add(...this.particles.objects);
  }

  /** Joints or particles have come or gone (nails, what the user makes). */
  describeJoints(description) {
    const parts = (of) => JSON.stringify((of?.particles ?? []).map((system) => [system.count, system.lines.length, system.held]));
    if (parts(description) !== parts(this.description)) this.describeParticles(description);
    this.pointer.describe(description.particles ?? [], description.revision ?? 0);
    this.description = description;
    this.inspector.describe(description);
    this.overlays.describe(description, this.stage.radius);
    this.selected.joint = null;
    this.select(this.selected.body);
  }

  select(body) {
    this.selected = { body, joint: null };
    if (this.touched?.body !== body) this.touched = null;
    this.bodies?.select(body);
    this.pieces?.select(body);
    this.overlays.selectedJoint = null;
    this.inspector.show(body, null);
    find('follow').disabled = body === null && this.followed === null;
    this.watch();
    this.redraw();
  }

  /** Selects what was touched; where is remembered, for nails of those who have no keyboard. */
  touch(body, point) {
    this.select(body);
    this.touched = body === null ? null : { body, point: point.toArray() };
  }

  selectJoint(joint) {
    this.selected = { body: null, joint };
    this.bodies?.select(null);
    this.pieces?.select(null);
    this.overlays.selectedJoint = joint;
    this.inspector.show(null, joint);
    this.watch();
    this.redraw();
  }

  follow(body) {
    this.followed = body;
    const button = find('follow');
    button.classList.toggle('on', body !== null);
    button.disabled = body === null && this.selected.body === null;
    // from here on: the next frame may be far away
    this.followedAt = body !== null && this.frame ? new Vector3().fromArray(this.frame.positions, 3 * body) : null;
    if (this.followedAt) this.stage.carry(this.followedAt.clone().sub(this.stage.controls.target));
  }

  home() {
    this.follow(null);
    if (this.frame && this.bodies) this.frameScene(this.stage.floorHeight);
    this.redraw();
  }

  /** A new state of the bodies, or a function that has it; it is drawn with the next picture of the browser. */
  setFrame(frame) {
    this.pending = frame;
    // the first one at once: the browser is still busy with the page around it
    if (!this.frame && !document.hidden) this.draw();
  }

  redraw() {
    if (this.frame) this.pending ??= this.frame;
    this.stage.dirty = true;
  }

  setHistory(times, rows, cursor) {
    this.history = { times, rows, cursor };
  }

  drawCharts(now) {
    const time = performance.now();
    const { times, rows, cursor } = this.history;
    if (now) { this.charts.draw(times, rows, cursor); return; }
    if (this.chartsDue <= 0 || time - this.chartAt < CHART_PERIOD) return;
    // where pictures are few, two at a time, or charts would lag behind them
    const count = time - this.chartAt > 2 * CHART_PERIOD ? 2 : 1;
    for (let k = 0; k < count; k++) this.charts.drawOne(this.chart + k, times, rows, cursor);
    [this.chartAt, this.chart, this.chartsDue] = [time, this.chart + count, this.chartsDue - count];
  }

  loop() {
    requestAnimationFrame(() => this.loop());
    this.onTick?.(performance.now());
    this.draw();
  }

  draw() {
    const begun = performance.now();
    const isFirst = !this.frame;
    const frame = typeof this.pending === 'function' ? this.pending() : this.pending;
    this.pending = null;
    if (frame) this.apply(frame);
    if (!isFirst) this.drawCharts(false);
    const script = performance.now();
    // an empty room is not worth the first second
    if (frame || (this.stage.dirty && this.frame)) this.stage.render();
    if (!frame) return;
    const { metrics } = this;
    metrics.frames += 1;
    metrics.scriptMs += script - begun;
    metrics.renderMs = (metrics.renderMs ?? 0) + performance.now() - script;
    metrics.worstMs = Math.max(metrics.worstMs, script - begun);
    if (metrics.firstPictureMs === null) metrics.firstPictureMs = performance.now();
  }

  apply(frame) {
    if (!this.bodies || frame.count !== this.bodies.bodies.length) return;
    const isFirst = this.frame === null;
    this.frame = frame;
    this.pointer.show(frame);
    this.bodies.place(frame);
    this.bodies.showSleeping(this.overlays.shown.sleeping ? frame.sleeping : null);
    this.pieces?.place(frame);
    this.particles.place(frame.points);
    if (isFirst) {
      this.frameScene(Infinity);
      this.particles.setScale(this.stage.radius);
      this.overlays.describe(this.description, this.stage.radius);
    }
    if (this.followed !== null) this.carryAlong(frame);
    const now = this.metrics.frames % LIGHT_PERIOD === 0;
    if (now) this.stage.keepLit(this.whereMostIs(frame));
    // all of every shape now and then, middles at once
    if (now || isLower(frame.positions, this.stage.floorHeight) || isLower(frame.points, this.stage.floorHeight)) this.keepFloorBelow();
    this.overlays.update(frame);
    this.inspector.update(frame);
    find('clock').textContent = `${frame.time.toFixed(2)} s`;
    find('clock').classList.toggle('bad', frame.failed);
    find('clock').title = frame.failed ? 'simulated time; the last step left a joint open' : 'simulated time';
    const pace = frame.playing && frame.pace !== null ? `${figure(Math.round(frame.pace * 100) / 100)} × real time` : '';
    if (find('pace').textContent !== pace) find('pace').textContent = pace;
    this.tellLeftOut(frame);
    this.chartsDue = this.charts.items.length;
  }

  /** Lowers a floor that is only drawn below what has sunk into it, unless that falls far away. */
  keepFloorBelow() {
    const { floorHeight, radius } = this.stage;
    const low = this.bounds().low.z;
    if (low > floorHeight - 0.01 * radius || low < this.lowestFloor || this.bodies.levelPlane() !== null) return;
    this.stage.layFloor(low - 0.1 * radius);
  }

  /** Says how many contacts there was no room for. */
  tellLeftOut({ contacts, contactsInAll }) {
    const shown = this.overlays.shown.contacts && contacts ? contacts.length / CONTACT_NUMBERS : 0;
    const text = shown && contactsInAll > shown ? `the strongest ${shown} of ${contactsInAll} contacts` : '';
    const box = find('left-out');
    if (box.textContent === text) return;
    [box.textContent, box.hidden] = [text, text === ''];
  }

  /** The box around bodies and particles; inverted if there are none. */
  bounds() {
    return this.particles.extend(this.bodies.bounds());
  }

  /**
   * Shows everything above a floor that is no higher than the present one, with `ahead` also where it will be in the first seconds unless that is
   * far away.
   */
  frameScene(floorNow, ahead = this.description.ahead) {
    const box = this.bounds();
    const lists = [this.bodies.corners(), this.particles.latest ?? []];
    if (!(box.low.x <= box.high.x)) { box.low.set(-1, -1, -1); box.high.set(1, 1, 1); }
    const floor = Math.min(floorNow, this.bodies.levelPlane() ?? Math.min(box.low.z, ahead?.floor ?? Infinity));
    const middle = box.low.clone().add(box.high).multiplyScalar(0.5).toArray();
    // what has gone elsewhere does not come back
    if (ahead && middle.every((x, k) => x >= ahead.low[k] && x <= ahead.high[k])) {
      const far = FARTHEST_AHEAD * box.high.distanceTo(box.low);
      for (const axis of ['x', 'y', 'z']) {
        const k = 'xyz'.indexOf(axis);
        [box.low[axis], box.high[axis]] = [
          Math.min(box.low[axis], Math.max(ahead.low[k], box.low[axis] - far)), Math.max(box.high[axis], Math.min(ahead.high[k], box.high[axis] + far)),
        ];
      }
      lists.push(edges(box));
    }
    this.stage.frameScene(box, floor, lists.some((points) => points.length) ? lists : [edges(box)]);
    this.lowestFloor = this.stage.floorHeight - 4 * this.stage.radius;
  }

  /** The body that is followed, or the middle of those that move: the median of each coordinate, which a few that fly away do not change. */
  whereMostIs({ positions, count }) {
    if (this.followed !== null) return new Vector3().fromArray(positions, 3 * this.followed);
    const moving = this.bodies.moving;
    if (!moving.length) return new Vector3();
    const middle = (axis) => Float64Array.from(moving, (k) => (k < count ? positions[3 * k + axis] : 0)).sort()[moving.length >> 1];
    return new Vector3(middle(0), middle(1), middle(2));
  }

  carryAlong(frame) {
    const at = new Vector3().fromArray(frame.positions, 3 * this.followed);
    if (this.followedAt) this.stage.carry(at.clone().sub(this.followedAt));
    this.followedAt = at;
  }
}

/** Whether any of these points, three numbers each, is below a height. */
function isLower(points, height) {
  for (let k = 2; k < (points?.length ?? 0); k += 3) if (points[k] < height) return true;
  return false;
}

/** The middles of a box's edges, and points not quite at its corners: what swings reaches its sides, but hardly the corners. */
function edges({ low, high }) {
  const middle = low.clone().add(high).multiplyScalar(0.5);
  const points = [];
  const inwards = (x, of) => middle[of] + 0.9 * (x - middle[of]);
  for (const { x } of [low, high]) for (const { y } of [low, high]) for (const { z } of [low, high]) points.push(inwards(x, 'x'), inwards(y, 'y'), inwards(z, 'z'));
  for (const [free, one, other] of [['x', 'y', 'z'], ['y', 'z', 'x'], ['z', 'x', 'y']]) {
    for (const a of [low, high]) for (const b of [low, high]) {
      const at = middle.clone();
      [at[free], at[one], at[other]] = [middle[free], a[one], b[other]];
      points.push(at.x, at.y, at.z);
    }
  }
  return points;
}

// What is selected, in numbers, with sliders for what can be driven.

import { make } from './dom.js';
import { degrees, figure, vector, withUnit } from './format.js';

export class Inspector {
  /** `act` has select(body), selectJoint(joint), motor(joint, coordinate, motor), nail(), pullNails(body), follow(body). */
  constructor(box, act, isLive) {
    Object.assign(this, { box, act, isLive, hasForces: true });
    this.show(null, null);
  }

  /** A new scene. */
  describe(description) {
    this.description = description;
    this.show(null, null);
  }

  show(body, joint) {
    Object.assign(this, { body, joint, cells: {} });
    this.box.replaceChildren();
    if (body !== null && this.description?.bodies[body]) this.showBody(this.description.bodies[body], body);
    else if (joint !== null && this.description?.joints[joint]) this.showJoint(this.description.joints[joint], joint);
    else this.showNothing();
  }

  showNothing() {
    this.box.append(make('p', { className: 'quiet' }, 'Click on a body, or choose:'));
    for (const [label, key, act] of [['body', 'bodies', (k) => this.act.select(k)], ['joint', 'joints', (k) => this.act.selectJoint(k)]]) {
      const things = this.description?.[key] ?? [];
      if (!things.length) continue;
      const choice = make('select', { onchange: (event) => act(Number(event.target.value)), 'aria-label': label },
        make('option', { value: '', disabled: true, selected: true }, `${things.length} ${things.length === 1 ? label : key}…`));
      // thousands of names are listed when somebody wants to choose, not before
      const list = () => { if (choice.options.length === 1) choice.append(...things.slice(0, 2000).map((thing, k) => make('option', { value: String(k) }, thing.name || `${label} ${k}`))); };
      for (const type of ['pointerdown', 'focus', 'keydown']) choice.addEventListener(type, list);
      choice.style.width = '100%';
      this.box.append(make('p', {}, choice));
    }
  }

  table(rows) {
    const body = rows.map(([name, value, key]) => {
      const cell = make('td', {}, value ?? '');
      if (key) this.cells[key] = cell;
      return make('tr', {}, make('td', {}, name), cell);
    });
    this.box.append(make('table', { className: 'facts' }, make('tbody', {}, ...body)));
  }

  head(name, kind) {
    const close = make('a', { className: 'link', onclick: () => this.act.select(null) }, 'close');
    this.box.append(make('p', {}, make('span', { className: 'name' }, name), ` · ${kind} · `, close));
  }

  showBody(body, index) {
    this.head(body.name || `body ${index}`, `${body.kind} body`);
    const rows = [['position, m', '', 'position'], ['orientation', '', 'orientation']];
    rows.push(['velocity, m/s', '', 'velocity'], ['angular, rad/s', '', 'angular']);
    if (body.mass !== null) rows.push(['mass', withUnit(body.mass, 'kg')]);
    if (body.mechanism !== null) rows.push(['mechanism', String(body.mechanism + 1)]);
    this.table(rows);
    const buttons = [make('button', { onclick: () => this.act.follow(index) }, 'Follow')];
    if (this.isLive && body.mass !== null) {
      buttons.push(make('button', { onclick: () => this.act.nail(index), title: 'Hold the body where you touched it, or at its centre of mass if you chose it from the list (N at the cursor)' }, 'Nail'),
        make('button', { onclick: () => this.act.pullNails(index) }, 'Pull nails'));
    }
    this.box.append(make('p', { className: 'row' }, ...buttons));
    const joints = this.description.joints.map((joint, k) => [joint, k]).filter(([joint]) => joint.a === index || joint.b === index);
    if (joints.length) {
      const links = joints.slice(0, 40).flatMap(([joint, k]) => [make('a', { className: 'link', onclick: () => this.act.selectJoint(k) }, joint.name || `joint ${k}`), ', ']);
      this.box.append(make('p', {}, make('span', { className: 'quiet' }, 'joints: '), ...links.slice(0, -1)));
    }
  }

  showJoint(joint, index) {
    this.head(joint.name || `joint ${index}`, joint.kind.replaceAll('_', ' '));
    const side = (body) => (body === null ? 'world' : make('a', { className: 'link', onclick: () => this.act.select(body) }, this.description.bodies[body].name || `body ${body}`));
    if (joint.frame_a) this.box.append(make('p', {}, side(joint.a), ' – ', side(joint.b)));
    if (this.hasForces) {
      const rows = [['error', '', 'error']];
      if (joint.frame_a) rows.push(['force on b, N', '', 'force'], ['torque, N m', '', 'torque'], ['', '', 'unique']);
      this.table(rows);
    }
    joint.coordinates.forEach((coordinate, k) => this.showCoordinate(coordinate, k, index));
  }

  showCoordinate(coordinate, k, joint) {
    const unit = coordinate.is_angle ? 'rad' : 'm';
    const { limit, motor, spring, friction, damping } = coordinate.acting;
    const rows = [[coordinate.name, '', `value${k}`], ['rate', '', `rate${k}`]];
    if (limit) rows.push(['limits', `${figure(limit.min ?? -Infinity).replace('not finite', '−∞')} to ${figure(limit.max ?? Infinity).replace('not finite', '∞')} ${unit}`]);
    if (spring) rows.push(['spring', `${figure(spring.stiffness)} N${coordinate.is_angle ? ' m/rad' : '/m'}`]);
    if (friction) rows.push(['dry friction', `${figure(friction)} N${coordinate.is_angle ? ' m' : ''}`]);
    if (damping) rows.push(['damping', figure(damping)]);
    if (this.hasForces && (limit || motor || friction)) rows.push(['forces', '', `forces${k}`]);
    this.table(rows);
    if (motor && this.isLive) this.box.append(this.motor(motor, coordinate, joint));
  }

  /** A slider and a number for what a motor aims at. */
  motor(motor, coordinate, joint) {
    const [kind, settings] = Object.entries(motor)[0];
    const key = kind === 'force' ? 'value' : 'target';
    const [low, high] = motorRange(kind, settings, coordinate);
    const unit = kind === 'force' ? (coordinate.is_angle ? 'N m' : 'N') : `${coordinate.is_angle ? 'rad' : 'm'}${kind === 'velocity' ? '/s' : ''}`;
    const send = (value) => {
      if (!Number.isFinite(value)) return;
      settings[key] = value;
      this.act.motor(joint, coordinate.name, motor);
    };
    const slider = make('input', { type: 'range', min: low, max: high, step: (high - low) / 400, value: settings[key], 'aria-label': `${kind} of ${coordinate.name}` });
    const number = make('input', { type: 'number', step: 'any', value: Number(settings[key].toPrecision(6)) });
    slider.addEventListener('input', () => { number.value = Number(Number(slider.value).toPrecision(4)); send(Number(slider.value)); });
    number.addEventListener('change', () => { slider.value = number.value; send(Number(number.value)); });
    const name = { force: 'force', velocity: 'velocity motor', servo: 'servo' }[kind];
    const most = settings.max_force ? `, at most ${figure(settings.max_force)} N${coordinate.is_angle ? ' m' : ''}` : '';
    return make('div', { className: 'motor' }, make('div', { className: 'quiet' }, `${name}, ${unit}${most}`), make('div', { className: 'row' }, slider, number));
  }

  /** Fresh numbers. */
  update(frame) {
    const put = (key, text) => { const cell = this.cells[key]; if (cell && cell.textContent !== text) cell.textContent = text; };
    if (this.body !== null && this.body < frame.count) {
      const b = this.body;
      put('position', vector([...frame.positions.subarray(3 * b, 3 * b + 3)]));
      const [x, y, z, w] = frame.orientations.subarray(4 * b, 4 * b + 4);
      const angle = 2 * Math.atan2(Math.hypot(x, y, z), w);
      const length = Math.hypot(x, y, z) || 1;
      put('orientation', `${degrees(angle)} about ${vector([x / length, y / length, z / length].map((c) => Math.round(c * 1000) / 1000))}`);
      const twist = frame.twists.get(b);
      if (twist) { put('velocity', vector(twist.linear)); put('angular', vector(twist.angular)); }
    }
    const joint = this.joint !== null ? frame.joints.get(this.joint) : null;
    if (!joint) return;
    put('error', `${figure(joint.errorM)} m  ${figure(joint.errorRad)} rad`);
    put('force', vector(joint.force));
    put('torque', vector(joint.torque));
    put('unique', joint.unique ? '' : 'one of many ways to share the load');
    // what rounding leaves is zero to people
    const clean = (value) => figure(Math.abs(value) < 1e-12 ? 0 : value);
    joint.coordinates.forEach((c, k) => {
      const described = this.description.joints[this.joint]?.coordinates[k];
      const shown = described?.is_angle ? `${clean(c.value)} rad (${degrees(Math.abs(c.value) < 1e-12 ? 0 : c.value)})` : `${clean(c.value)} m`;
      put(`value${k}`, shown);
      put(`rate${k}`, `${clean(c.velocity)} ${described?.is_angle ? 'rad/s' : 'm/s'}`);
      const forces = [['motor', c.motor], ['limit', c.limit], ['friction', c.friction]].filter(([, value]) => value !== 0);
      put(`forces${k}`, forces.map(([name, value]) => `${name} ${figure(value)}`).join(', ') || '–');
    });
  }
}

/** How far a slider reaches: the limits of a servo, a few times the present value of anything else. */
export function motorRange(kind, settings, { is_angle: isAngle, acting }) {
  const { limit } = acting;
  if (kind === 'servo' && Number.isFinite(limit?.min) && Number.isFinite(limit?.max)) return [limit.min, limit.max];
  const value = Math.abs(settings[kind === 'force' ? 'value' : 'target']);
  const least = { force: 10, velocity: isAngle ? 5 : 0.5, servo: isAngle ? Math.PI : 0.5 }[kind];
  const reach = kind === 'servo' ? Math.max(least, 2 * value) : Math.max(least, 3 * value);
  return [-reach, reach];
}

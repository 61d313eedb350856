// The page of a running simulation.

import { Connection } from './connection.js';
import { find, make, notify } from './dom.js';
import { figure, quantity, stepSize } from './format.js';
import { decodeFrame, decodeHead } from './protocol.js';
import { History } from './scale.js';
import { Scenes } from './scenes.js';
import { bindKeys } from './shortcuts.js';
import { View } from './view.js';

export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, null];
const HISTORY = 1200;
/** Choices by name; the command line has the same. */
const CHOICES = ['method', 'stepper', 'contact'];
const SWITCHES = ['sleep', 'shock'];

export class Live {
  constructor() {
    document.body.classList.add('is-live');
    this.history = new History(HISTORY);
    this.status = null;
    this.scene = null;
    this.speeds = document.querySelectorAll('.speeds');
    const send = (message) => this.connection.send(message);
    this.connection = new Connection({
      open: () => { find('banner').hidden = true; this.status = null; this.view.watch(); },
      lost: () => { find('banner').textContent = 'The simulation does not answer; trying again…'; find('banner').hidden = false; },
      text: (message) => this.receive(message),
      frame: (buffer) => this.receiveFrame(buffer),
    });
    this.view = new View({
      drag: (body, point, target) => {
        if (!this.status?.playing) notify('Time stands still. Press space to let it run.');
        send({ type: 'drag', scene: this.scene, body, point, target });
      },
      dragParticle: (particle, target) => {
        if (!this.status?.playing) notify('Time stands still. Press space to let it run.');
        send({ type: 'drag_particle', scene: this.scene, particle, target });
      },
      nailParticle: (particle) => send({ type: 'nail_particle', scene: this.scene, revision: this.view.pointer.revision, particle }),
      createParticle: (target, to) => send({ type: 'create_particle', scene: this.scene, revision: this.view.pointer.revision, target, to }),
      attachParticle: (particle, to, body) => send({ type: 'attach_particle', scene: this.scene, revision: this.view.pointer.revision, particle, to, body }),
      tell: notify,
      release: () => send({ type: 'release' }),
      nail: (body, point) => send({ type: 'nail', scene: this.scene, body, point }),
      pullNails: (body) => send({ type: 'pull_nails', scene: this.scene, body: body ?? null }),
      motor: (joint, coordinate, motor) => send({ type: 'motor', scene: this.scene, joint, coordinate, motor }),
      watch: (watch) => send({ type: 'watch', ...watch }),
    }, true);
    this.scenes = new Scenes((name, parameters) => send({ type: 'scene', name, parameters }));
    this.buttons(send);
    find('hint').textContent = 'drag a body to pull it · ? for help';
  }

  buttons(send) {
    const play = () => send({ type: 'play', on: !this.status?.playing });
    const step = () => send({ type: 'step', count: 1 });
    const reset = () => send({ type: 'reset' });
    find('play').onclick = play;
    find('step').onclick = step;
    find('reset').onclick = reset;
    find('pull-nails').onclick = () => send({ type: 'pull_nails', scene: this.scene, body: null });
    // one in the bar; small windows have it among the settings
    for (const speed of this.speeds) {
      speed.append(...SPEEDS.map((value) => make('option', { value: String(value) }, value === null ? 'max' : `${value} ×`)));
      speed.onchange = () => send({ type: 'speed', value: speed.value === 'null' ? null : Number(speed.value) });
    }
    const faster = (by) => {
      const at = Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(this.status?.speed ?? null) + by));
      send({ type: 'speed', value: SPEEDS[at] });
    };
    this.field('dt', (text) => { const value = quantity(text); return value > 0 ? { type: 'dt', value } : null; });
    this.field('tolerance', (text) => (text.trim() === '' || text.trim() === 'off' ? { type: 'tolerance', value: null } : quantity(text) > 0 ? { type: 'tolerance', value: quantity(text) } : null));
    this.field('gravity', (text) => {
      const numbers = text.trim().split(/[\s,;]+/).map(quantity);
      if (numbers.some((number) => number === null)) return null;
      return numbers.length === 1 ? { type: 'gravity', value: [0, 0, numbers[0]] } : numbers.length === 3 ? { type: 'gravity', value: numbers } : null;
    });
    for (const type of CHOICES) find(type).onchange = (event) => send({ type, name: event.target.value });
    for (const type of SWITCHES) find(type).onchange = (event) => send({ type, on: event.target.value === 'true' });
    const { view } = this;
    const toggle = (key) => () => view.toggle(key, !find(`toggle-${key}`).checked);
    bindKeys([
      ['space', 'plays or pauses', play], ['. or ArrowRight', 'makes one step', step], ['r', 'goes back to the start', reset], ['[', 'slower', () => faster(-1)], [']', 'faster', () => faster(1)],
      ['n', 'nails the point under the cursor', () => view.pointer.nailHere()], ['b', 'makes a particle under the cursor, hung on the one that is marked', () => view.pointer.createHere()], ['a', 'marks the particle under the cursor; then attaches it to the next particle or body', () => view.pointer.attachHere()], ['u', 'pulls all nails', () => find('pull-nails').click()],
      ['j', 'joints', toggle('joints')], ['k', 'joint frames', toggle('frames')], ['v', 'velocities', toggle('velocities')], ['f', 'reaction forces', toggle('reactions')], ['c', 'contacts', toggle('contacts')],
      ['x', 'next style of shapes', () => nextStyle()], ['m', 'mechanisms by colour', () => nextColouring()],
      ['h', 'whole scene', () => view.home()], ['g', 'follows the selected body, or no longer', () => find('follow').click()], ['p', 'saves a picture', () => find('shot').click()], ['l', 'light or dark', () => find('theme').click()],
      ['Escape', 'selects nothing', () => view.select(null)], ['? or F1', 'this help', () => find('help').click()],
    ], true);
  }

  /** A field whose text becomes a message when it makes sense. */
  field(id, read) {
    const field = find(id);
    field.onchange = () => {
      const message = read(field.value);
      field.classList.toggle('wrong', message === null);
      if (message) this.connection.send(message);
    };
  }

  receive(message) {
    switch (message.type) {
      case 'hello':
        if (!this.meet(message)) break;
        for (const type of CHOICES) find(type).replaceChildren(...message[`${type}s`].map((name) => make('option', {}, name)));
        this.scenes.list(message.scenes);
        break;
      case 'scene': this.receiveScene(message); break;
      case 'status': this.receiveStatus(message); break;
      case 'warnings': this.receiveWarnings(message); break;
      case 'notice': notify(message.text, message.level); break;
    }
  }

  /** Another run of the server numbers its scenes anew, and another version of it speaks another language. */
  meet({ session, version }) {
    const known = this.server;
    this.server = { session, version };
    if (known && known.version !== version) { location.reload(); return false; }
    if (known && known.session !== session) this.scene = null;
    return true;
  }

  receiveScene(message) {
    if (this.scene === null) performance.mark('scene has come');
    if (message.scene === this.scene) {
      this.view.describeJoints(message);
    } else {
      this.scene = message.scene;
      this.history.clear();
      this.view.describe(message);
      this.scenes.show(message);
    }
    this.revision = message.revision;
    find('pull-nails').disabled = !message.nails.length && !message.nailed_particles.length;
  }

  receiveStatus(status) {
    this.tellBuilding(status.building, this.status?.building ?? null);
    this.status = status;
    find('play').classList.toggle('on', status.playing);
    for (const speed of this.speeds) speed.value = String(status.speed);
    const put = (id, text) => { if (document.activeElement !== find(id)) find(id).value = text; };
    put('dt', stepSize(status.dt));
    put('tolerance', status.tolerance === null ? '' : String(status.tolerance));
    put('gravity', status.gravity[0] === 0 && status.gravity[1] === 0 ? figure(status.gravity[2]) : status.gravity.map(figure).join(' '));
    for (const type of CHOICES) find(type).value = status[type];
    for (const type of SWITCHES) find(type).value = String(status[type]);
    for (const { joint, coordinate, motor } of status.motors) {
      const found = this.view.description?.joints[joint]?.coordinates.find((c) => c.name === coordinate);
      if (!found || JSON.stringify(found.acting.motor) === JSON.stringify(motor)) continue;
      // changed in another page
      found.acting.motor = motor;
      const { inspector } = this.view;
      if (inspector.joint === joint && !inspector.box.contains(document.activeElement)) inspector.show(null, joint);
    }
  }

  /** What runs goes on until the next scene is there. */
  tellBuilding(name, before) {
    if (name === before) return;
    find('banner').textContent = name === null ? '' : `Building ${name}…`;
    find('banner').hidden = name === null;
    if (name === null) this.scenes.settle();
  }

  receiveWarnings({ list, omitted }) {
    find('warnings-section').hidden = list.length === 0;
    const item = ({ message, first_s: first, count }) => make('li', {}, `${message} (first at ${figure(first)} s, ${count === 1 ? 'once' : `${count} times`})`);
    find('warnings').replaceChildren(...list.slice(0, 8).map(item));
    const more = Math.max(0, list.length - 8) + omitted;
    if (more) find('warnings').append(make('li', {}, `and ${more} more`));
  }

  receiveFrame(buffer) {
    const head = decodeHead(buffer);
    // frames of the scene before may still be on their way
    if (!head || head.scene !== this.scene) return;
    if (!this.view.frame && !this.view.pending) performance.mark('frame has come');
    if (head.steps > 0) this.history.add(head.time, head.stats);
    else this.history.clear();
    this.view.history = this.history;
    // the rest is read when it is drawn: a page that is slow, or not looked at, has no time for all of them
    this.view.setFrame(() => {
      const frame = decodeFrame(buffer);
      if (frame && frame.revision !== this.revision) { frame.reactions = null; frame.joints.clear(); }
      return frame;
    });
  }
}

export function nextOption(id) {
  const select = find(id);
  select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
  select.onchange();
}
const nextStyle = () => nextOption('style');
const nextColouring = () => nextOption('colouring');

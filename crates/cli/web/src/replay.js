// The page of a recording.

import { find, make, notify } from './dom.js';
import { figure } from './format.js';
import { nextOption } from './live.js';
import { readRecording } from './recording.js';
import { bindKeys } from './shortcuts.js';
import { View } from './view.js';

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
/** The camera shows where bodies are within so many seconds from the start. */
const AHEAD_SECONDS = 4;
/** Frames that are looked at for how far bodies get. */
const MOST_LOOKS = 120;

export class Replay {
  constructor(load) {
    document.body.classList.add('is-replay');
    const nothing = () => {};
    this.recording = null;
    this.wanted = {};
    this.view = new View({ drag: nothing, dragParticle: nothing, nailParticle: nothing, createParticle: nothing, attachParticle: nothing, tell: nothing, release: nothing, nail: nothing, pullNails: nothing, motor: nothing, watch: (watch) => this.watch(watch) }, false);
    this.time = 0;
    this.playing = false;
    this.speed = 1;
    this.load(load);
  }

  async load(load) {
    try {
      this.recording = await readRecording(await load());
    } catch (error) {
      notify(`The recording cannot be shown: ${error.message}`, 'error');
      return;
    }
    const { recording, view } = this;
    if (!recording.length) { notify('There is no frame in the recording.', 'error'); return; }
    if (!recording.complete) notify('The recording was cut off; what is there is shown.');
    const { description } = recording;
    if (!recording.hasSleeping) view.cannotShow(['sleeping'], 'this recording does not say what sleeps');
    if (!recording.hasForces) view.withoutForces('not in this recording');
    view.describe(description);
    description.ahead = ahead(recording, view);
    const parameters = Object.entries(description.parameters).map(([key, value]) => `${key} = ${value}`).join(', ');
    find('replay-about').textContent = [description.description, parameters, `${recording.length} frames, ${figure(recording.end - recording.start)} s, step ${figure(description.dt)} s`].filter(Boolean).join(' · ');
    find('warnings-section').hidden = recording.events.length === 0;
    find('warnings').replaceChildren(...recording.events.slice(0, 12).map((e) => make('li', {}, `${e.text} (at ${figure(e.time)} s)`)));
    this.times = Array.from({ length: recording.length }, (_, k) => recording.timeOf(k));
    this.rows = this.times.map((_, k) => recording.statsOf(k));
    this.controls();
    this.seek(recording.start);
    this.play(true);
    view.onTick = (now) => this.tick(now);
  }

  controls() {
    const { recording, view } = this;
    const slider = find('time');
    [slider.min, slider.max] = [recording.start, recording.end];
    slider.oninput = () => { this.play(false); this.seek(Number(slider.value)); };
    const speed = find('replay-speed');
    speed.append(...SPEEDS.map((value) => make('option', { value: String(value) }, `${value} ×`)));
    speed.value = '1';
    speed.onchange = () => { this.speed = Number(speed.value); };
    const play = () => this.play(!this.playing);
    const step = (by) => () => {
      this.play(false);
      const at = Math.min(recording.length - 1, Math.max(0, recording.frameBefore(this.time) + by));
      this.seek(recording.timeOf(at));
    };
    const reset = () => this.seek(recording.start);
    find('play').onclick = play;
    find('step').onclick = step(1);
    find('reset').onclick = reset;
    const toggle = (key) => () => view.toggle(key, !find(`toggle-${key}`).checked);
    bindKeys([
      ['space', 'plays or pauses', play], ['. or ArrowRight', 'next frame', step(1)], [', or ArrowLeft', 'frame before', step(-1)], ['r', 'goes back to the start', reset],
      ['j', 'joints', toggle('joints')], ['k', 'joint frames', toggle('frames')], ['v', 'velocities', toggle('velocities')], ['f', 'reaction forces', toggle('reactions')], ['c', 'contacts', toggle('contacts')],
      ['x', 'next style of shapes', () => nextOption('style')], ['m', 'mechanisms by colour', () => nextOption('colouring')],
      ['h', 'whole scene', () => view.home()], ['g', 'follows the selected body, or no longer', () => find('follow').click()], ['p', 'saves a picture', () => find('shot').click()], ['l', 'light or dark', () => find('theme').click()],
      ['Escape', 'selects nothing', () => view.select(null)], ['? or F1', 'this help', () => find('help').click()],
    ], false);
  }

  play(on) {
    if (on && this.time >= this.recording.end) this.seek(this.recording.start);
    this.playing = on;
    this.tickedAt = null;
    find('play').classList.toggle('on', on);
  }

  tick(now) {
    if (this.playing && this.tickedAt !== null) {
      const time = this.time + (this.speed * (now - this.tickedAt)) / 1000;
      this.seek(Math.min(time, this.recording.end));
      if (time >= this.recording.end) this.play(false);
    }
    this.tickedAt = now;
  }

  /** What is looked at besides poses. */
  watch(watch) {
    this.wanted = watch;
    if (this.recording?.length && this.view?.frame) this.view.setFrame(this.recording.at(this.time, watch));
  }

  seek(time) {
    this.time = time;
    find('time').value = String(time);
    this.view.setFrame(this.recording.at(time, this.wanted));
    this.view.setHistory(this.times, this.rows, time);
  }
}

/** The box around everything that is recorded, and its lowest point. */
function ahead(recording, view) {
  let floor = Infinity;
  const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
  const stride = Math.max(1, Math.floor(recording.length / MOST_LOOKS));
  for (let k = 0; k < recording.length; k += stride) {
    const frame = recording.at(recording.timeOf(k), {});
    view.bodies.place(frame);
    view.particles.place(frame.points);
    const box = view.bounds();
    floor = Math.min(floor, box.low.z);
    if (frame.time > recording.start + AHEAD_SECONDS) continue;
    box.low.toArray().forEach((x, i) => { low[i] = Math.min(low[i], x); });
    box.high.toArray().forEach((x, i) => { high[i] = Math.max(high[i], x); });
  }
  return { low, high, floor };
}

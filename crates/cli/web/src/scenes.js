// The scene browser: all scenes, their parameters, and files that are dropped.

import { find, make, notify } from './dom.js';
import { quantity } from './format.js';

export class Scenes {
  constructor(choose) {
    this.choose = choose;
    this.entries = [];
    const select = find('scenes');
    select.onchange = () => choose(select.value, {});
    find('parameters').onsubmit = (event) => { event.preventDefault(); this.apply(); };
    find('file-button').onclick = () => find('file').click();
    find('file').onchange = (event) => { if (event.target.files[0]) open(event.target.files[0]); event.target.value = ''; };
    this.drops();
  }

  drops() {
    let depth = 0;
    const over = (by) => { depth = Math.max(0, depth + by); document.body.classList.toggle('dropping', depth > 0); };
    document.addEventListener('dragenter', (event) => { event.preventDefault(); over(1); });
    document.addEventListener('dragleave', () => over(-1));
    document.addEventListener('dragover', (event) => event.preventDefault());
    document.addEventListener('drop', (event) => {
      event.preventDefault();
      over(-depth);
      const [file] = event.dataTransfer.files;
      if (file) open(file);
    });
  }

  list(entries) {
    this.entries = entries;
    find('scenes').replaceChildren(...entries.map((entry) => make('option', { value: entry.name, title: entry.summary }, entry.name)));
    if (this.shown) this.show(this.shown);
  }

  /** The scene that runs. */
  show(scene) {
    this.shown = scene;
    const entry = scene.registry ? this.entries.find((e) => e.name === scene.name) : null;
    const select = find('scenes');
    select.querySelector('.file')?.remove();
    if (!entry) select.prepend(make('option', { className: 'file', value: '', disabled: true }, scene.name || 'scene file'));
    select.value = entry ? scene.name : '';
    find('about').textContent = scene.description;
    const fields = (entry?.parameters ?? []).flatMap((parameter) => this.field(parameter, scene.parameters[parameter.name]));
    if (fields.length) fields.push(make('button', { className: 'apply' }, 'Build with these'));
    find('parameters').replaceChildren(...fields);
  }

  /** Names the scene that runs, whatever was chosen. */
  settle() {
    if (this.shown) find('scenes').value = this.shown.registry ? this.shown.name : '';
  }

  field(parameter, value) {
    const { name, unit, meaning, min, max, integer } = parameter;
    const id = `parameter-${name}`;
    const title = `${meaning} (${min} to ${max}${unit ? ` ${unit}` : ''})`;
    const isSwitch = integer && min === 0 && max === 1;
    const input = isSwitch
      ? make('select', { id, name, title, onchange: () => this.apply() }, make('option', { value: '0' }, 'off'), make('option', { value: '1' }, 'on'))
      : make('input', { id, name, title, inputMode: 'decimal', onchange: () => this.apply() });
    input.value = String(value);
    return [make('label', { htmlFor: id, title }, unit ? `${name}, ${unit}` : name), input];
  }

  apply() {
    const entry = this.entries.find((e) => e.name === this.shown?.name);
    if (!entry) return;
    const parameters = {};
    for (const parameter of entry.parameters) {
      const input = find(`parameter-${parameter.name}`);
      const value = quantity(input.value);
      input.classList.toggle('wrong', value === null);
      if (value === null) return;
      parameters[parameter.name] = value;
    }
    const same = Object.entries(parameters).every(([name, value]) => this.shown.parameters[name] === value);
    if (!same) this.choose(entry.name, parameters);
  }
}

/** Sends a scene file to the simulation. */
async function open(file) {
  try {
    const answer = await fetch(`/scene/${encodeURIComponent(file.name)}`, { method: 'POST', body: file });
    if (!answer.ok) notify((await answer.text()) || `The server refused ${file.name}.`, 'error');
  } catch {
    notify(`${file.name} could not be sent.`, 'error');
  }
}

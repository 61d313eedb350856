// Keys, and the overlay that explains them.

import { find, make } from './dom.js';

const MOUSE = [
  ['drag a body', 'pulls it with a spring', true], ['drag elsewhere', 'turns the camera'], ['right drag, two fingers', 'moves the camera'], ['wheel, pinch', 'zooms'],
  ['click', 'selects a body, or a joint where joints are shown'], ['double click', 'follows a body'], ['shift + click', 'nails the point to the world', true],
];

/** What goes on while a key is held; other keys act once. */
const REPEATED = ['.', ',', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'];

/** `keys` are [key, what it does, action]; `isLive` leaves out what recordings cannot do. */
export function bindKeys(keys, isLive) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.('input:not([type="range"]):not([type="checkbox"]), select, textarea, dialog')) return;
    const found = keys.find(([key]) => key.split(' or ').includes(event.key === ' ' ? 'space' : event.key.length === 1 ? event.key.toLowerCase() : event.key));
    if (!found) return;
    // arrows are the slider's that has the focus
    if (event.target.type === 'range' && event.key.startsWith('Arrow')) return;
    event.preventDefault();
    if (event.repeat && !REPEATED.includes(event.key)) return;
    if (document.activeElement?.tagName === 'BUTTON') document.activeElement.blur();
    found[2]();
  });
  const dialog = find('help-dialog');
  const table = (rows) => make('table', {}, make('tbody', {}, ...rows.map(([key, meaning]) => make('tr', {}, make('td', {}, make('kbd', {}, key)), make('td', {}, meaning)))));
  const half = Math.ceil(keys.length / 2);
  const part = (title, rows) => make('div', {}, make('h2', {}, title), table(rows));
  dialog.append(make('div', { className: 'corner' }, make('button', { title: 'Close (Escape)', onclick: () => dialog.close() }, '×')),
    make('div', { className: 'parts' }, part('Mouse and fingers', MOUSE.filter(([, , live]) => isLive || !live)), part('Keys', keys.slice(0, half)), part('More keys', keys.slice(half))));
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  for (const id of ['help', 'help-too']) find(id).onclick = () => dialog.showModal();
}

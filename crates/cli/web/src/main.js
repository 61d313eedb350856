// The page: a running simulation, or a recording from the server or from the page itself.

import { notify } from './dom.js';
import { Live } from './live.js';
import { Replay } from './replay.js';

function embedded() {
  const text = document.getElementById('recording').textContent;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

async function fetched() {
  const answer = await fetch('/recording.lwr');
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

performance.mark('script runs');
const mode = document.querySelector('meta[name="linkwork-mode"]').content;
try {
  // kept for the console and for tests
  window.linkwork = mode === 'live' ? new Live() : new Replay(mode === 'inline' ? embedded : fetched);
} catch (error) {
  notify(`The page cannot be shown: ${error.message}. It needs WebGL 2.`, 'error');
  throw error;
}

// Small helpers for the page. Text is always set as text, so that no name of a scene can be markup.

export const find = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Remembers a setting where the browser allows it. */
export function remember(key, value) {
  try { localStorage.setItem(`linkwork-${key}`, value); } catch { /* a file without storage forgets */ }
}

export function recall(key) {
  try { return localStorage.getItem(`linkwork-${key}`); } catch { return null; }
}

/** A sentence that goes away by itself, errors later. */
export function notify(text, level = 'info') {
  const box = find('notices');
  if ([...box.children].some((child) => child.textContent === text)) return;
  const notice = make('div', { className: `notice ${level}`, onclick: () => notice.remove() }, text);
  box.append(notice);
  while (box.children.length > 4) box.firstChild.remove();
  setTimeout(() => notice.remove(), level === 'error' ? 12000 : 5000);
}

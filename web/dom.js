// Elements made of values. Text only ever becomes text: nothing here parses HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'text') element.textContent = value;
    else if (name === 'value' || name === 'checked' || name === 'selected' || name === 'indeterminate') element[name] = value;
    else if (name === 'data') Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/// Calls at most once per frame, with the newest arguments.
export function perFrame(call) {
  let waiting = false;
  let newest;
  return (...values) => {
    newest = values;
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      call(...newest);
    });
  };
}

/// Calls when nothing has come for so many milliseconds.
export function whenQuiet(milliseconds, call) {
  let timer = 0;
  const quiet = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
  quiet.cancel = () => clearTimeout(timer);
  return quiet;
}

let lastId = 0;
export const freshId = (word) => `${word}-${++lastId}`;

/// Tells a screen reader.
export function announce(text) {
  const live = document.getElementById('live');
  if (live) live.textContent = text;
}

/// A message that goes by itself, or when it is closed.
export function notice(text, { kind = 'info', action, label } = {}) {
  const area = document.getElementById('notices');
  const close = () => box.remove();
  const box = h('div', { class: `notice ${kind}`, role: kind === 'error' ? 'alert' : 'status' }, h('span', { text }),
    action && h('button', { class: 'quiet', text: label, onclick: () => { close(); action(); } }),
    h('button', { class: 'quiet', 'aria-label': 'Close this message', text: '×', onclick: close }));
  area.append(box);
  // What can still be undone stays until somebody closes it, or three newer ones have come.
  while (area.children.length > 4) area.firstElementChild.remove();
  if (!action) setTimeout(close, kind === 'error' ? 20000 : 8000);
}

/// An empty view that says what to do.
export function emptyState(title, ...lines) {
  return h('div', { class: 'empty' }, h('h2', { text: title }), lines.map((line) => typeof line === 'string' ? h('p', { text: line }) : line));
}

export function saveFile(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = h('a', { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/// A name that every system takes for a file.
export const fileName = (text) => text.replace(/[^\p{L}\p{N}._-]+/gu, '_').slice(0, 80) || 'plimsoll';

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    notice('Copied.');
  } catch {
    notice('The browser does not let the page copy: mark the text and copy it.', { kind: 'error' });
  }
}

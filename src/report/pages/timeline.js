'use strict';
// Shows what is in memory at the event under the pointer. Names come from a model: they are only ever set as text.
const data = JSON.parse(document.getElementById('data').textContent);
const { texts, purposes, phases, columns, spans } = data;
const chart = document.getElementById('chart');
const plot = document.getElementById('plot');
const cursor = document.getElementById('cursor');
const kMost = 10;

const begin = [];
spans.begin.reduce((sum, step, i) => (begin[i] = sum + step), 0);

function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  while (Math.round(bytes) >= 1024 && unit + 1 < units.length) { bytes /= 1024; ++unit; }
  const decimals = unit === 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return `${bytes.toFixed(decimals)} ${units[unit]}`;
}

function phaseAt(event) {
  let now = phases[0];
  for (const phase of phases) if (phase[1] <= event) now = phase;
  return now ? now[0] : '';
}

// What the event did, and the largest of what is in memory after it.
function look(event) {
  const sums = purposes.map(() => 0);
  const largest = [];
  let total = 0, made = -1, freed = -1;
  for (let i = 0; i < begin.length; ++i) {
    const end = begin[i] + spans.length[i];
    if (begin[i] === event && event > 0) made = i;
    if (end === event) freed = i;
    if (begin[i] > event || end <= event) continue;
    sums[spans.purpose[i]] += spans.bytes[i];
    total += spans.bytes[i];
    if (largest.length < kMost || spans.bytes[i] > spans.bytes[largest[kMost - 1]]) {
      let at = largest.length;
      while (at > 0 && spans.bytes[largest[at - 1]] < spans.bytes[i]) --at;
      largest.splice(at, 0, i);
      largest.length = Math.min(largest.length, kMost);
    }
  }
  return { sums, largest, total, made, freed };
}

function maker(span) {
  return texts[spans.op[span]] || 'the framework';
}

function cell(row, text, className) {
  const td = row.insertCell();
  td.textContent = text;
  if (className) td.className = className;
  return td;
}

function show(column) {
  const event = columns[column];
  const { sums, largest, total, made, freed } = look(event);
  cursor.setAttribute('x1', column + 0.5);
  cursor.setAttribute('x2', column + 0.5);
  const what = made >= 0 ? `allocates ${texts[spans.tensor[made]]} (${size(spans.bytes[made])}), by ${maker(made)}`
             : freed >= 0 ? `frees ${texts[spans.tensor[freed]]} (${size(spans.bytes[freed])}), made by ${maker(freed)}` : '';
  document.getElementById('where').textContent = `Event ${event}, ${phaseAt(event)}: ${size(total)} allocated` + (what ? `; ${what}` : '');
  for (const td of document.querySelectorAll('[data-purpose]')) td.textContent = size(sums[Number(td.dataset.purpose)]);
  const body = document.getElementById('tensors');
  body.replaceChildren();
  for (const i of largest) {
    const row = body.insertRow();
    const name = cell(row, texts[spans.tensor[i]], 'name');
    const key = document.createElement('span');
    key.className = `key ${data.keys[spans.purpose[i]]}`;
    name.prepend(key);
    cell(row, purposes[spans.purpose[i]], 'purpose');
    cell(row, texts[spans.op[i]]);
    cell(row, size(spans.bytes[i]), 'number');
  }
}

if (columns.length > 0) {
  let now = data.peak;
  const go = (column) => {
    const next = Math.max(0, Math.min(columns.length - 1, column));
    if (next !== now) show(now = next);
  };
  chart.addEventListener('pointermove', (event) => {
    const box = plot.getBoundingClientRect();
    go(Math.floor((event.clientX - box.left) / box.width * columns.length));
  });
  chart.addEventListener('keydown', (event) => {
    const far = Math.max(1, Math.round(columns.length / 20));
    const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -far, PageUp: far, Home: -columns.length, End: columns.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    go(now + step);
  });
  chart.addEventListener('dblclick', () => go(data.peak));
  show(now);
}

// The frame of every chart: its title, what can be done with it (a table of the numbers, SVG, PNG, CSV), and the chart.

import { fileName, freshId, h, notice, saveFile } from './dom.js';
import { number } from './format.js';
import { openMenu } from './menu.js';

export function csvText({ head, rows }) {
  const cell = (value) => {
    const text = value === null || value === undefined || Number.isNaN(value) ? '' : String(value);
    // A text that a spreadsheet would run is told as text.
    const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return `${[head, ...rows].map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`;
}

async function pngOf(svgText) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText)}`;
  await image.decode();
  const canvas = h('canvas', { width: image.width * 2, height: image.height * 2 });
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, 'image/png'); });
}

const mostRows = 500;

function tableOf({ head, rows }) {
  const shown = rows.length > mostRows ? rows.filter((_, i) => i % Math.ceil(rows.length / mostRows) === 0) : rows;
  return h('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'The numbers of this chart' },
    rows.length > shown.length && h('p', { class: 'note', text: `${shown.length} of ${number(rows.length)} rows, evenly spread; the CSV has all.` }),
    h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, head.map((word) => h('th', { scope: 'col', text: word })))),
      h('tbody', {}, shown.map((row) => h('tr', {}, row.map((value) => typeof value === 'number' ? h('td', { class: 'number', text: number(value, 6) }) : h('td', { text: value ?? '' })))))));
}

/// `chart` has root, svgText() and table(), title.
export function figureOf(chart, { title = chart.title, hint, extra = [] } = {}) {
  const id = freshId('figure');
  const place = h('div', { hidden: true });
  const toggle = () => {
    place.hidden = !place.hidden;
    place.replaceChildren(...(place.hidden ? [] : [tableOf(chart.table())]));
  };
  const save = {
    SVG: () => saveFile(`${fileName(title)}.svg`, new Blob([chart.svgText()], { type: 'image/svg+xml' })),
    PNG: async () => saveFile(`${fileName(title)}.png`, await pngOf(chart.svgText())),
    CSV: () => saveFile(`${fileName(title)}.csv`, new Blob([csvText(chart.table())], { type: 'text/csv' })),
  };
  const menu = h('button', { class: 'quiet icon', type: 'button', 'aria-haspopup': 'menu', 'aria-label': `What to do with ${title.slice(0, 80)}`, text: '⋯', onclick: (event) => openMenu(event.currentTarget, [
    { label: place.hidden ? 'Show as a table' : 'Hide the table', run: toggle },
    ...Object.entries(save).map(([kind, run]) => ({ label: `Save as ${kind}`, run: () => Promise.resolve(run()).catch((error) => notice(`It could not be saved: ${error.message}`, { kind: 'error' })) })),
    ...extra.map((one) => typeof one === 'function' ? one() : one),
  ]) });
  return h('figure', { 'aria-labelledby': id, 'data-title': title },
    h('figcaption', {}, h('span', { id, class: 'title', text: title }), hint && h('small', { text: hint }), menu), chart.root, place);
}

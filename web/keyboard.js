// Keys that work everywhere, and those that the view at hand adds.

import { openDialog } from './dialog.js';
import { h } from './dom.js';
import { go } from './router.js';

const everywhere = [
  ['g then n', 'Now', () => go(['now'])], ['g then r', 'Runs', () => go(['runs'])], ['g then c', 'Compare', () => go(['compare'])],
  ['g then w', 'Network', () => go(['network'])], ['g then s', 'Share', () => go(['share'])], ['g then m', 'Models', () => go(['models'])],
  ['/', 'Search', () => document.querySelector('[data-key="filter"]')?.focus()], ['?', 'These keys', () => showKeys()],
];
const inTables = [['↑ ↓ PgUp PgDn Home End', 'go through the rows'], ['Space, x', 'mark a row; with Shift and an arrow, several'], ['Enter', 'open the row']];
const inCharts = [['← →', 'move the cross'], ['Shift ← →', 'move what is shown'], ['+ −', 'zoom at the cross'], ['0, Esc', 'show all'], ['drag', 'zoom to a part; with Shift, move'], ['Ctrl and wheel', 'zoom']];

let local = [];

/// keys: [key, words, call]; they go with the signal.
export function addKeys(keys, signal) {
  local = [...local, ...keys];
  signal.addEventListener('abort', () => { local = local.filter((one) => !keys.includes(one)); });
}

export function showKeys() {
  if (document.querySelector('dialog.keys')) return;
  const part = (title, rows) => [h('h3', { text: title }), h('table', { class: 'plain keys-table' }, h('tbody', {}, rows.map(([key, words]) => h('tr', {}, h('th', { scope: 'row' }, h('kbd', { text: key })), h('td', { text: words })))))];
  const dialog = openDialog('Keys', h('div', {}, part('Everywhere', everywhere), local.length > 0 ? part('In this view', local) : '', part('In tables', inTables), part('In charts', inCharts)));
  dialog.classList.add('keys');
}

export function listenToKeys() {
  let before = '';
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input:not([type=checkbox]), textarea, select, dialog, [role=menu]')) return;
    const key = before === 'g' ? `g then ${event.key}` : event.key;
    before = event.key;
    const found = [...local, ...everywhere].find(([name]) => name === key);
    if (!found?.[2]) return;
    event.preventDefault();
    before = '';
    found[2]();
  });
}

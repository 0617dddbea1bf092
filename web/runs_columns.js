// Columns of the table of runs, and the dialog in which they are chosen.

import { openDialog } from './dialog.js';
import { h } from './dom.js';
import { ago, moment, number, quantity, seconds, short, unknown, when } from './format.js';
import { address } from './router.js';
import { numeric } from './series.js';
import { statusOf } from './status.js';
import { unitOf } from './units.js';

/// What was sampled of a run, as a whole: label, unit, and the metric that holds it when the run has ended.
export const hardware = { energy: ['Energy', 'J', 'summary/gpu_energy'], sm_activity: ['SM activity', 'share', 'summary/sm_activity_mean'], gpu_memory: ['GPU memory', 'B', 'summary/gpu_memory_peak'],
  host_energy: ['Processor energy', 'J', 'summary/host_energy'], cpu_seconds: ['Processor time', 's', 'summary/cpu_seconds'], memory: ['Memory', 'B', 'summary/memory_peak'] };

/// A run that nobody named has the beginning of its id for a name.
export const nameOf = (run) => (run.name ?? '').trim() === '' ? run.id.slice(0, 8) : run.name;

const fixed = {
  status: { label: 'Status', width: 104, sort: true, cell: (run) => statusOf(run.status) },
  name: { label: 'Name', width: 200, sort: true, cell: (run) => h('a', { href: address(['experiments', run.experiment_id, 'runs', run.id]), tabindex: -1 }, h('bdi', { text: short(nameOf(run), 200) })) },
  start: { label: 'Started', width: 120, sort: true, cell: (run) => h('time', { text: when(run.start), title: moment(run.start) }) },
  duration: { label: 'Duration', width: 108, number: true, sort: true, cell: (run) => run.start ? h('span', { text: seconds(((run.end || Date.now()) - run.start) / 1000), title: run.end ? moment(run.end) : `started ${ago(run.start)}` }) : unknown },
  user: { label: 'User', width: 110, sort: true, cell: (run) => h('bdi', { text: short(run.user ?? '', 60) }) },
  experiment: { label: 'Experiment', width: 140, cell: (run) => h('bdi', { text: short(run.experiment ?? run.experiment_id, 60) }) },
  id: { label: 'Id', width: 110, cell: (run) => h('code', { text: run.id.slice(0, 12) }) },
};
export const fixedColumns = new Set(Object.keys(fixed));

export function columnOf(id) {
  if (fixed[id]) return { id, ...fixed[id] };
  const dot = id.indexOf('.');
  const kind = id.slice(0, dot);
  const key = id.slice(dot + 1);
  const shown = key.trim() === '' ? '(blank)' : key;
  if (kind === 'hardware') {
    const [label, unit] = hardware[key] ?? [key, ''];
    return { id, label, title: `${label}, as sampled`, width: 104, number: true, sort: true, cell: (run) => numberCell(run.values[id], unit) };
  }
  if (kind === 'metrics') {
    const [name, fold] = /^(.*):(min|max|mean|points|step)$/.exec(key)?.slice(1) ?? [key];
    return { id, label: fold ? `${name} ${fold}` : shown, title: `metric ${name}`, width: 112, number: true, sort: !fold, cell: (run) => numberCell(run.values[id], fold === 'points' || fold === 'step' ? '' : unitOf(name)) };
  }
  return { id, label: shown, title: `${kind === 'tags' ? 'tag' : 'parameter'} ${key}`, width: 116, sort: true, cell: (run) => h('bdi', { text: run.values[id] === null || run.values[id] === undefined ? unknown : short(String(run.values[id]), 100), title: short(String(run.values[id] ?? ''), 500) }) };
}

function numberCell(value, unit) {
  if (value === null || value === undefined) return h('span', { class: 'faint', text: unknown });
  const size = numeric(value);
  return h('span', { text: unit ? quantity(size, unit) : number(size), title: String(value) });
}

/// Columns can be put in order by dragging, and by keys.
export function columnsMenu({ chosen, facets, done }) {
  let columns = [...chosen];
  const list = h('ol', { class: 'order-list', 'aria-label': 'Columns in their order' });
  const finder = h('input', { type: 'search', placeholder: 'Find a metric, parameter or tag', 'aria-label': 'Find a column' });
  const rest = h('ul', { class: 'pick-list', 'aria-label': 'What can be added' });
  const all = [...Object.keys(fixed), ...Object.keys(hardware).map((key) => `hardware.${key}`), ...facets.metrics.map((key) => `metrics.${key}`), ...facets.params.map((key) => `params.${key}`), ...facets.tags.map((key) => `tags.${key}`)];
  let dragged = null;

  const move = (id, to) => {
    columns = columns.filter((one) => one !== id);
    columns.splice(Math.max(0, Math.min(columns.length, to)), 0, id);
    fill();
    list.querySelector(`[data-i="${columns.indexOf(id)}"] .name`)?.focus();
  };
  const labelOf = (id) => short(columnOf(id).label, 60);
  const kindOf = (id) => /^(metrics|params|tags|hardware)\./.exec(id)?.[1].replace(/s$/, '').replace('param', 'parameter') ?? '';
  function fill() {
    list.replaceChildren(...columns.map((id, i) => h('li', { draggable: 'true', 'data-i': i, ondragstart: () => { dragged = id; }, ondragover: (event) => event.preventDefault(), ondrop: (event) => { event.preventDefault(); if (dragged) move(dragged, i); } },
      h('button', { type: 'button', class: 'quiet name', 'aria-label': `${labelOf(id)}, column ${i + 1} of ${columns.length}; Alt and arrow keys move it`, onkeydown: (event) => {
        if (event.altKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) { event.preventDefault(); move(id, i + (event.key === 'ArrowUp' ? -1 : 1)); }
      } }, h('span', { 'aria-hidden': 'true', text: '⠿ ' }), labelOf(id), ' ', h('small', { text: kindOf(id) })),
      h('button', { type: 'button', class: 'quiet icon', 'aria-label': `Remove ${labelOf(id)}`, text: '×', onclick: () => { columns = columns.filter((one) => one !== id); fill(); } }))));
    const words = finder.value.toLowerCase();
    rest.replaceChildren(...all.filter((id) => !columns.includes(id) && id.toLowerCase().includes(words)).slice(0, 100).map((id) => h('li', {}, h('button', { type: 'button', class: 'quiet', onclick: () => { columns.push(id); fill(); } }, `+ ${labelOf(id)} `, h('small', { text: kindOf(id) })))));
  }
  finder.addEventListener('input', fill);
  fill();
  openDialog('Columns', h('div', { class: 'columns-dialog' }, h('div', {}, h('h3', { text: 'Shown' }), list), h('div', {}, h('h3', { text: 'To add' }), finder, rest)),
    { wide: true, actions: [{ label: 'As it was first', run: () => done([]) }, { label: 'Cancel' }, { label: 'Show these', primary: true, run: () => done(columns) }] });
}

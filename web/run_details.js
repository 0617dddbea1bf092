// Parameters, tags, metrics and environment of a run.

import { artifactText, mlflowGet } from './api.js';
import { h } from './dom.js';
import { moment, number, quantity } from './format.js';
import { editTag } from './runs_actions.js';
import { numeric } from './series.js';
import { mayWrite } from './session.js';
import { isHardware, unitOf } from './units.js';

function longText(text) {
  if (text.length <= 300) return h('bdi', { text });
  return h('details', {}, h('summary', { text: `${text.slice(0, 160)}… (${number(text.length)} characters)` }), h('pre', { text }));
}

function pairs(title, rows, { empty, action } = {}) {
  const finder = rows.length > 12 && h('input', { type: 'search', placeholder: 'Find', 'aria-label': `Find in ${title.toLowerCase()}` });
  const body = h('tbody');
  const fill = () => body.replaceChildren(...rows.filter(([key, text]) => !finder || `${key} ${text}`.toLowerCase().includes(finder.value.toLowerCase())).map(([key, text, cell]) => h('tr', {}, h('th', { scope: 'row' }, h('bdi', { text: key.length > 120 ? `${key.slice(0, 120)}…` : key })), h('td', {}, cell ?? longText(text)), action && h('td', {}, action(key, text)))));
  if (finder) finder.addEventListener('input', fill);
  fill();
  return h('section', { 'aria-label': title }, h('h2', {}, title, ' ', finder), rows.length === 0 ? h('p', { class: 'note', text: empty }) : h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'A table that may be scrolled' }, h('table', { class: 'plain pairs' }, body)));
}

export async function openDetails(run, { signal, reload }) {
  const environment = h('div', {});
  const kept = mlflowGet('artifacts/list', { run_id: run.id }, signal).then(({ files }) => (files ?? []).some(({ path }) => path === 'environment.json'));
  kept.then((there) => there && artifactText(run.id, 'environment.json', { signal })).then((file) => {
    if (!file) return;
    const { bytes } = file;
    const values = JSON.parse(new TextDecoder().decode(bytes));
    const rows = Object.entries(values).map(([key, value]) => [key, typeof value === 'object' ? JSON.stringify(value, null, 1) : String(value)]);
    environment.append(pairs('Environment', rows));
  }).catch(() => {});
  const byName = (a, b) => a[0].localeCompare(b[0], 'en', { numeric: true });
  const tags = [...run.tags].filter(([key]) => !key.startsWith('plimsoll.') && !key.startsWith('mlflow.')).sort(byName);
  const about = [...run.tags].filter(([key]) => key.startsWith('plimsoll.') || key.startsWith('mlflow.')).sort(byName);
  const metrics = [...run.metrics.values()].filter(({ key }) => !isHardware(key) && !key.startsWith('summary/')).sort((a, b) => a.key.localeCompare(b.key)).map((metric) => [metric.key, '', h('span', { title: moment(metric.timestamp), text: `${quantity(numeric(metric.value), unitOf(metric.key, metric.unit))} at step ${number(Number(metric.step))}` })]);
  const row = { id: run.id, deleted: run.info.lifecycle_stage === 'deleted' };
  return h('div', { class: 'details' }, pairs('Parameters', [...run.params].sort(byName), { empty: 'No parameters were told. A line `plimsoll: param lr 0.1`, or mlflow.log_param, tells one.' }), pairs('Newest metrics', metrics, { empty: 'No metrics yet.' }),
    h('div', {}, pairs('Tags', tags, { empty: 'No tags.', action: mayWrite() && ((key, text) => h('button', { type: 'button', class: 'quiet', 'aria-label': `Edit the tag ${key.slice(0, 60)}`, text: 'Edit', onclick: () => editTag([row], reload, key, text) })) }),
    mayWrite() && h('button', { type: 'button', text: 'Add a tag…', onclick: () => editTag([row], reload) })), pairs('About the run', about), environment);
}

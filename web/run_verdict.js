// Why a run was as quick as it was, what to try, prediction beside measurement, and what it cost: what `plimsoll report` says.

import { h } from './dom.js';
import { bytes, joules, number, quantity, seconds, share, unknown, watts } from './format.js';
import { titleOf, unitOf } from './units.js';

const evidenceUnit = { share: 'share', cores: 'cores', seconds: 's', watts: 'W', bytes: 'B', joules: 'J' };

function evidence(finding) {
  const told = (finding.evidence ?? []).filter(({ value }) => value !== null);
  return told.length > 0 && h('details', {}, h('summary', { text: 'What this rests on' }), h('table', { class: 'plain' }, h('tbody', {}, told.map(({ figure, value, kind }) => h('tr', {}, h('th', { scope: 'row', text: figure }), h('td', { class: 'number', text: quantity(value, evidenceUnit[kind] ?? kind) }))))));
}

const finding = (one, kind) => h('div', { class: `finding ${kind}` }, h('h3', { text: one.title }), h('p', { text: one.text }), (one.advice ?? []).length > 0 && h('ul', { class: 'advice' }, one.advice.map((text) => h('li', { text }))), evidence(one));

function gainOf({ gain, low, high, of }) {
  if (gain === null || gain === undefined) return 'gain not known';
  const between = low && high && low !== high ? ` (${number(low, 3)} to ${number(high, 3)})` : '';
  return `${number(gain, 3)} ×${between}${of === 'gpu' ? ' of what the GPU does' : ' as fast'}`;
}

export function verdictCard(report) {
  const { verdict, wasted } = report;
  return h('section', { class: 'verdict', 'aria-label': 'Verdict' },
    verdict.outcome && finding(verdict.outcome, 'failed'),
    finding(verdict, 'main'),
    report.advice?.length > 0 && h('div', {}, h('h3', { text: 'What to try' }), h('ol', { class: 'tries' }, report.advice.map((one) => h('li', {}, h('b', { text: one.title }), ' ', h('span', { class: 'gain', text: gainOf(one) }), h('p', { text: one.why }), h('p', { class: 'note', text: one.rule }))))),
    h('p', { class: 'note', text: wasted.text }));
}

export function findingsOf(report) {
  const all = [...(report.verdict.findings ?? []), report.verdict.utilization].filter(Boolean);
  return all.length > 0 && h('section', { 'aria-label': 'Other findings' }, h('h2', { text: 'Also' }), h('div', { class: 'findings' }, all.map((one) => finding(one, ''))));
}

function comparison(name, predicted, measured, format, source) {
  const error = predicted?.value && measured ? predicted.value / measured - 1 : null;
  const between = predicted?.low && predicted?.high ? ` (${format(predicted.low)} to ${format(predicted.high)})` : '';
  return h('tr', {}, h('th', { scope: 'row', text: name }), h('td', { class: 'number', text: predicted?.value ? `${format(predicted.value)}${between}` : unknown }), h('td', { class: 'number', text: measured ? format(measured) : unknown }),
    h('td', { class: 'number', text: error === null ? unknown : `${error > 0 ? '+' : ''}${share(error)}` }), h('td', { class: 'note', text: source ?? '' }));
}

export function predictions(report, run) {
  const rows = [];
  const need = Number(run.tag('need.bytes'));
  const peak = Math.max(...report.gpus.map((gpu) => gpu.run_peak_memory_bytes ?? gpu.peak_memory_bytes ?? 0), 0);
  if (need) rows.push(comparison('GPU memory', { value: need }, peak, bytes, run.tag('need.source')));
  if (report.beside) rows.push(comparison('Speed beside others', { value: report.beside.predicted.speed, low: report.beside.predicted.low, high: report.beside.predicted.high }, report.beside.measured.speed, share, `sharing: ${report.beside.sharing}`));
  const target = report.target;
  if (target) rows.push(comparison(`${target.metric} ${target.direction} ${number(target.value)}`, target.expected && { value: target.expected.seconds, low: target.expected.low_seconds, high: target.expected.high_seconds }, target.reached ? target.seconds : null, seconds, 'by its curve so far'));
  return h('section', { 'aria-label': 'Prediction beside measurement' }, h('h2', { text: 'Prediction beside measurement' }), rows.length === 0
    ? h('p', { class: 'note', text: 'Nothing was predicted for this run. With --estimate or --target `plimsoll run` says memory and time before they are measured, and so does the queue of its jobs.' })
    : h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'A table that may be scrolled' }, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['', 'Predicted', 'Measured', 'Error', 'Source'].map((text, i) => h('th', { scope: 'col', class: i > 0 && i < 4 ? 'number' : null, text })))), h('tbody', {}, rows))));
}

export function costs(report) {
  const energy = report.gpus.reduce((sum, gpu) => sum + (gpu.run_joules ?? gpu.joules ?? 0), 0);
  const rows = [['Time', seconds(report.seconds)], ['Energy of the GPUs', energy > 0 ? `${joules(energy)} (${number(energy / 3.6e6, 3)} kWh)` : unknown],
    ['Near-idle GPU time', seconds(report.wasted.near_idle_gpu_seconds)], ['Energy while near-idle', joules(report.wasted.near_idle_joules)]];
  for (const [name, value] of Object.entries(report.cost ?? {})) if (typeof value === 'number') rows.push([name.replaceAll('_', ' '), number(value)]);
  return h('section', { 'aria-label': 'Cost' }, h('h2', { text: 'Cost' }), h('dl', {}, rows.map(([name, value]) => [h('dt', { text: name }), h('dd', { text: value })])),
    report.gpus.length > 0 && h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'A table that may be scrolled' }, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['GPU', 'SM activity', 'Utilisation', 'Power', 'Energy', 'Of this run', 'Peak memory'].map((text, i) => h('th', { scope: 'col', class: i > 0 ? 'number' : null, text })))),
      h('tbody', {}, report.gpus.map((gpu) => h('tr', {}, h('th', { scope: 'row', text: `${gpu.host ? `${gpu.host}, ` : ''}GPU ${gpu.gpu}${gpu.name ? ` ${gpu.name}` : ''}` }), [share(gpu.sm_activity), share(gpu.utilization), watts(gpu.watts), joules(gpu.joules), joules(gpu.run_joules), bytes(gpu.run_peak_memory_bytes ?? gpu.peak_memory_bytes)].map((text) => h('td', { class: 'number', text }))))))));
}

export function averages(report) {
  const rows = Object.entries(report.averages ?? {});
  return rows.length > 0 && h('section', { 'aria-label': 'Averages' }, h('h2', { text: 'Averages' }), h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'A table that may be scrolled' }, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['', 'Mean', 'Lowest', 'Highest', 'Points', 'Source'].map((text, i) => h('th', { scope: 'col', class: i > 0 && i < 5 ? 'number' : null, text })))),
    h('tbody', {}, rows.map(([key, row]) => {
      const unit = unitOf(key, row.unit === '1' && key.startsWith('system/') ? '' : row.unit);
      return h('tr', {}, h('th', { scope: 'row', text: titleOf(key) }), [row.mean, row.low, row.high].map((value) => h('td', { class: 'number', text: quantity(value, unit) })), h('td', { class: 'number', text: number(row.points) }), h('td', { class: 'note', text: row.source }));
    })))));
}

export function epochs(report) {
  const laps = report.epochs?.rows?.length > 0 ? report.epochs : report.steps;
  if (!laps?.rows?.length) return null;
  const rows = laps.rows;
  const shown = rows.length > 200 ? rows.filter((_, i) => i % Math.ceil(rows.length / 200) === 0) : rows;
  return h('section', { 'aria-label': laps === report.epochs ? 'Epochs' : 'Steps' }, h('h2', { text: laps === report.epochs ? 'Epochs' : `Steps, by ${laps.metric}` }), h('details', { open: rows.length <= 20 }, h('summary', { text: `${number(rows.length)} rows` }),
    h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'A table that may be scrolled' }, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['', 'Time', laps.metric, 'SM activity', 'Energy', 'GPU memory', 'Processor'].map((text, i) => h('th', { scope: 'col', class: i > 0 ? 'number' : null, text })))),
      h('tbody', {}, shown.map((row) => h('tr', {}, h('th', { scope: 'row', text: row.first === row.last ? String(row.first) : `${row.first}–${row.last}` }), [seconds(row.seconds), number(row.value), share(row.sm_activity), joules(row.joules), bytes(row.gpu_memory_bytes), row.cpu_cores === null ? unknown : `${number(row.cpu_cores, 3)} cores`].map((text) => h('td', { class: 'number', text })))))))));
}

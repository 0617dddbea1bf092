// Up to fifty runs beside each other.

import { emptyState, h, notice } from './dom.js';
import { fieldsOf } from './compare_values.js';
import { BoxPlot, ParallelPlot, ScatterPlot } from './compare_plots.js';
import { figureOf } from './figure.js';
import { number, short } from './format.js';
import { LineChart } from './line_chart.js';
import { address, go, rewrite } from './router.js';
import { loadRun } from './run_data.js';
import { nameOf } from './runs_columns.js';
import { Series } from './series.js';
import { keep, setting } from './settings.js';
import { unitOf } from './units.js';
import { Window } from './window.js';

const most = 50;
const rank = (key) => (/acc/i.test(key) ? 0 : /loss/i.test(key) ? 1 : 2);
const dashes = [undefined, [6, 4], [2, 3], [10, 4, 2, 4], [1, 5]];

export async function open(area, { runs: ids, query, signal, title }) {
  title('Compare');
  if (ids.length === 0) {
    area.append(emptyState('Nothing is compared yet', 'Mark runs in the table, with a click or the space bar, and press “Compare” or c.', h('p', {}, h('a', { class: 'button', href: address(['runs']), text: 'To the runs' }))));
    return {};
  }
  if (ids.length > most) notice(`The first ${most} of ${ids.length} runs are compared.`);
  const asked = await Promise.allSettled(ids.slice(0, most).map((id) => loadRun(id, signal)));
  const runs = asked.filter(({ status }) => status === 'fulfilled').map(({ value }) => value);
  const failed = asked.find(({ status }) => status === 'rejected');
  if (runs.length === 0) throw failed.reason;
  if (failed) notice(`${asked.length - runs.length} of the runs could not be read: ${failed.reason.message}`, { kind: 'error' });
  const twice = new Set(runs.map((run) => run.name)).size < runs.length;
  for (const run of runs) run.name = twice ? `${short(nameOf(run), 60)} ${run.id.slice(0, 4)}` : short(nameOf({ name: run.name, id: run.id }), 60);
  const fields = fieldsOf(runs);
  const own = [...new Set(runs.flatMap((run) => run.ownKeys()))].filter((key) => key !== 'epoch').sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));

  const remove = (run) => go(['compare'], { runs: runs.filter((other) => other !== run).map(({ id }) => id).join(',') });
  const legend = h('ul', { class: 'legend runs-legend', 'aria-label': 'Runs' }, runs.map((run, i) => h('li', {}, h('i', { class: `key c${i % 12}${i >= 12 ? ' dashed' : ''}` }), h('a', { href: address(['experiments', run.info.experiment_id, 'runs', run.id]) }, h('bdi', { text: run.name })), h('button', { type: 'button', class: 'quiet icon', 'aria-label': `Leave out ${run.name}`, text: '×', onclick: () => remove(run) }))));
  area.append(h('h1', { text: runs.length === 1 ? 'One run' : `${runs.length} runs` }), legend, lines(), valuesSection(), table());

  function lines() {
    const state = { axis: query.get('axis') ?? setting('compare.axis', 'step'), smoothing: setting('smoothing', 0) };
    const shown = new Window();
    const charts = [];
    const clocks = {};
    const make = (key) => {
      const chart = new LineChart({ title: short(key, 120), unit: unitOf(key), window: shown, signal, height: 240, axis: () => state.axis, smoothing: () => state.smoothing, clocks: () => clocks });
      chart.wanted = async () => {
        if (chart.asked) return;
        chart.asked = true;
        const told = await Promise.allSettled(runs.map(async (run, i) => {
          if (!run.metrics.has(key)) return null;
          const { spans, unit } = await run.outline(key, { signal });
          chart.unit = unitOf(key, unit ?? '');
          return new Series({ name: run.name, key, spans, origin: run.start, colour: i, dash: dashes[Math.floor(i / 12)] });
        }));
        if (signal.aborted) return;
        chart.setSeries(told.filter(({ value }) => value).map(({ value }) => value));
        widen();
      };
      charts.push(chart);
      return figureOf(chart, { title: short(key, 120), extra: [() => ({ label: chart.logarithmic ? 'Linear scale' : 'Logarithmic scale', run: () => { chart.logarithmic = !chart.logarithmic; chart.redraw(); } })] });
    };
    const widen = () => {
      let [low, high] = [state.axis === 'time' ? 0 : Infinity, -Infinity];
      for (const chart of charts) for (const one of chart.series) {
        const [a, b] = one.ends(state.axis, clocks);
        low = Math.min(low, a);
        high = Math.max(high, b);
      }
      if (high >= low) shown.setWhole(low, high);
    };
    const axes = h('div', { class: 'segments', role: 'group', 'aria-label': 'Axis' }, [['step', 'Step'], ['time', 'Time'], ['share', 'Share of the run']].map(([axis, label]) => h('button', { type: 'button', class: 'segment', 'aria-pressed': String(state.axis === axis), text: label, onclick: (event) => {
      state.axis = axis;
      keep('compare.axis', axis);
      for (const button of axes.children) button.setAttribute('aria-pressed', String(button === event.currentTarget));
      shown.showAll();
      widen();
      for (const chart of charts) chart.redraw();
    } })));
    const output = h('output', { text: state.smoothing ? state.smoothing.toFixed(2) : 'off' });
    const smoothing = h('input', { type: 'range', min: 0, max: 0.99, step: 0.01, value: String(state.smoothing), 'aria-label': 'Smoothing', oninput: () => {
      state.smoothing = Number(smoothing.value);
      keep('smoothing', state.smoothing);
      output.textContent = state.smoothing ? state.smoothing.toFixed(2) : 'off';
      for (const chart of charts) chart.redraw();
    } });
    const hardware = [...new Set(runs.flatMap((run) => [...run.metrics.keys()]))].filter((key) => /^system\/(run\/)?gpu\/\d+\/(sm_activity|power|memory_used|memory|energy)$/.test(key)).sort();
    return h('section', { 'aria-label': 'Metrics' }, h('div', { class: 'toolbar chart-tools' }, axes, h('label', {}, 'Smoothing', smoothing, output), h('button', { type: 'button', text: 'Show all', onclick: () => shown.showAll() })),
      own.length === 0 ? h('p', { class: 'note', text: 'These runs have told no metrics.' }) : h('div', { class: 'charts' }, own.slice(0, 60).map(make)),
      hardware.length > 0 && h('details', {}, h('summary', { text: `Hardware: ${hardware.length} more charts` }), h('div', { class: 'charts' }, hardware.slice(0, 40).map(make))));
  }

  function valuesSection() {
    if (runs.length < 2) return '';
    const chooser = (label, among, chosen, changed) => {
      const select = h('select', { 'aria-label': label, onchange: () => changed(among[select.selectedIndex]) }, among.map((field) => h('option', { text: short(field.label, 60), selected: field === chosen })));
      return h('label', {}, `${label} `, select);
    };
    const of = (id) => fields.find((field) => field.id === id);
    const numeric = fields.filter((field) => field.isNumber);
    const plain = fields.filter((field) => !field.hardware);
    const best = numeric.find(({ id }) => /^metrics\.(?!.*loss).*(acc|f1|auc|bleu|map|score)/i.test(id)) ?? numeric.find(({ id }) => id.startsWith('metrics.')) ?? numeric[0];
    if (!best) return '';
    const other = of('energy') ?? of('duration');
    const scatter = new ScatterPlot({ runs, signal });
    scatter.runs = runs;
    let [x, y] = [of(query.get('x')) ?? other, of(query.get('y')) ?? best];
    const drawScatter = () => { scatter.setFields(x, y); scatter.title = `${y.label} against ${x.label}`; rewrite(['compare'], { runs: runs.map(({ id }) => id).join(','), x: x.id, y: y.id }); };
    scatter.setFields(x, y);
    const parallel = new ParallelPlot({ signal });
    parallel.runs = runs;
    const telling = ({ known, values }) => known >= runs.length / 2 && new Set(values.filter((one) => one !== null).map(String)).size > 1;
    const coordinates = [...plain.filter((field) => field.id.startsWith('params.') && telling(field)).slice(0, 5), ...plain.filter((field) => field.id.startsWith('metrics.') && field.isNumber && field.id !== 'metrics.epoch' && telling(field)).slice(0, 3), other].filter(Boolean);
    parallel.setFields(coordinates);
    const box = new BoxPlot({ signal });
    box.runs = runs;
    let group = plain.find(({ id, differs, values }) => id.startsWith('params.') && differs && new Set(values).size <= Math.max(2, runs.length / 2)) ?? plain.find(({ differs }) => differs) ?? plain[0];
    let value = best;
    box.setFields(group, value);
    const picks = h('details', {}, h('summary', { text: 'Axes' }), h('div', { class: 'toolbar' }, plain.slice(0, 60).map((field) => h('label', {}, h('input', { type: 'checkbox', checked: coordinates.includes(field), onchange: (event) => {
      if (event.target.checked) coordinates.push(field);
      else coordinates.splice(coordinates.indexOf(field), 1);
      parallel.setFields(coordinates);
    } }), ` ${short(field.label, 40)}`))));
    return h('section', { 'aria-label': 'Values' }, h('h2', { text: 'Values' }), h('div', { class: 'charts' },
      h('div', {}, h('div', { class: 'toolbar' }, chooser('Across', fields, x, (field) => { x = field; drawScatter(); }), chooser('Up', fields, y, (field) => { y = field; drawScatter(); })), figureOf(scatter, { title: 'Scatter' })),
      h('div', {}, h('div', { class: 'toolbar' }, chooser('Of', numeric, value, (field) => { value = field; box.setFields(group, value); }), chooser('By', plain, group, (field) => { group = field; box.setFields(group, value); })), figureOf(box, { title: 'By group' }))),
      figureOf(parallel, { title: 'Parallel coordinates' }), picks);
  }

  function table() {
    const differing = h('input', { type: 'checkbox', checked: true, onchange: () => fill() });
    const body = h('tbody');
    const best = (field) => /acc|f1|auc|score/i.test(field.id) ? Math.max : /loss|error|duration|energy/i.test(field.id) ? Math.min : null;
    const fill = () => {
      const rows = fields.filter((field) => !differing.checked || (field.differs && runs.length > 1) || runs.length === 1);
      body.replaceChildren(...rows.map((field) => {
        const pick = field.isNumber && runs.length > 1 && best(field);
        const winner = pick ? pick(...field.values.filter(Number.isFinite)) : NaN;
        return h('tr', {}, h('th', { scope: 'row' }, h('bdi', { text: short(field.label, 80) }), ' ', h('small', { text: field.id.startsWith('params.') ? 'parameter' : field.id.startsWith('metrics.') ? 'metric' : '' })),
          field.values.map((value) => h('td', { class: field.isNumber ? 'number' : null }, value === winner ? h('b', { title: 'the best', text: `${field.text(value)} ★` }) : h('bdi', { text: field.text(value) }))));
      }));
      if (rows.length === 0) body.replaceChildren(h('tr', {}, h('td', { text: 'Nothing differs.' })));
    };
    fill();
    return h('section', { 'aria-label': 'Side by side' }, h('h2', { text: 'Side by side' }), h('div', { class: 'toolbar' }, h('label', {}, differing, ' Only what differs'), h('span', { class: 'count', text: `${number(fields.filter(({ differs }) => differs).length)} of ${number(fields.length)} differ` })),
      h('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Side by side' }, h('table', { class: 'plain side' }, h('thead', {}, h('tr', {}, h('td'), runs.map((run, i) => h('th', { scope: 'col' }, h('i', { class: `key c${i % 12}` }), h('a', { href: address(['experiments', run.info.experiment_id, 'runs', run.id]) }, h('bdi', { text: run.name })))))), body)));
  }
  return {};
}

// The charts of one run: its own metrics first, the hardware below, all on one axis that is zoomed together.

import { h, announce, notice, whenQuiet } from './dom.js';
import { figureOf } from './figure.js';
import { seconds, short } from './format.js';
import { LineChart } from './line_chart.js';
import { keep, setting } from './settings.js';
import { titleOf } from './units.js';
import { Window } from './window.js';

const words = { 'gpu/sm_activity': 'SM activity', 'gpu/utilization': 'Utilisation: some kernel ran', 'gpu/memory': 'GPU memory', 'gpu/power': 'Power', 'gpu/energy': 'Energy so far', 'gpu/temperature': 'Temperature',
  'gpu/clock': 'Clocks', 'host/cpu': 'Processor', 'host/memory': 'Memory', 'gpu/dram_activity': 'DRAM activity', 'gpu/tensor_activity': 'Tensor cores' };
const titleOfKind = (id) => words[id] ?? id.slice(id.indexOf('/') + 1).replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase()).concat(id.startsWith('gpu/') ? ', GPU' : '');

export function runCharts(run, { signal }) {
  const shown = new Window();
  const state = { axis: setting('axis', 'time'), smoothing: setting('smoothing', 0) };
  const clocks = {};
  const charts = [];
  const settings = { axis: () => state.axis, smoothing: () => state.smoothing, clocks: () => clocks };

  function chartOf(title, keys, logarithmic = false) {
    const own = { ...settings, smoothing: () => keys.some((key) => key.startsWith('system/')) ? 0 : state.smoothing };
    const chart = new LineChart({ title, unit: '', window: shown, signal, logarithmic, ...own });
    chart.keys = keys;
    chart.wanted = async () => {
      if (chart.asked) return;
      chart.asked = true;
      try {
        const series = keys.map((key) => run.history(key, signal));
        await Promise.all(series.map((one) => one.loaded));
        series.forEach((one, i) => { one.colour = i; });
        chart.unit = series[0].unit;
        chart.setSeries(series);
        widen();
      } catch (error) {
        chart.asked = false;
        if (error.name !== 'AbortError') notice(`${title}: ${error.message}`, { kind: 'error' });
      }
    };
    charts.push(chart);
    return figureOf(chart, { title, extra: [() => ({ label: chart.logarithmic ? 'Linear scale' : 'Logarithmic scale', run: () => { chart.logarithmic = !chart.logarithmic; chart.redraw(); } })] });
  }

  /// The axis holds all that is loaded.
  function widen() {
    let low = Infinity;
    let high = -Infinity;
    for (const chart of charts)
      for (const one of chart.series) {
        if (state.axis !== 'time' && one.along(state.axis, clocks) === one.time) continue;
        const [a, b] = one.ends(state.axis, clocks);
        low = Math.min(low, a);
        high = Math.max(high, b);
      }
    if (state.axis === 'time') low = Math.min(0, low);
    if (high >= low) shown.setWhole(low, high);
  }

  // What a clock tells: steps by the metric with most of them, epochs by the metric of that name.
  async function loadClocks() {
    const keys = run.ownKeys();
    const main = ['loss', 'train_loss', 'train/loss'].find((key) => run.metrics.has(key)) ?? keys.find((key) => Number(run.metrics.get(key).step) > 0 && key !== 'epoch');
    const load = async (name, key) => { if (key && !clocks[name]) clocks[name] = await run.history(key, signal).loaded; };
    if (state.axis === 'step') await load('step', main);
    if (state.axis === 'epoch') await load('epoch', run.metrics.has('epoch') ? 'epoch' : undefined);
  }

  async function setAxis(axis) {
    state.axis = axis;
    keep('axis', axis);
    for (const button of axes.children) button.setAttribute('aria-pressed', String(button.dataset.axis === axis));
    try { await loadClocks(); } catch (error) { if (error.name !== 'AbortError') notice(error.message, { kind: 'error' }); }
    shown.showAll();
    widen();
    for (const chart of charts) chart.redraw();
  }

  const hasEpochs = run.metrics.has('epoch');
  const axes = h('div', { class: 'segments', role: 'group', 'aria-label': 'Axis' }, ['time', 'step', ...(hasEpochs ? ['epoch'] : [])].map((axis) => h('button', { type: 'button', class: 'segment', 'data-axis': axis, 'aria-pressed': String(state.axis === axis), text: { time: 'Time', step: 'Step', epoch: 'Epoch' }[axis], onclick: () => setAxis(axis) })));
  if (state.axis === 'epoch' && !hasEpochs) state.axis = 'time';
  const smoothing = h('input', { type: 'range', min: 0, max: 0.99, step: 0.01, value: String(state.smoothing), 'aria-label': 'Smoothing', oninput: () => {
    state.smoothing = Number(smoothing.value);
    keep('smoothing', state.smoothing);
    smoothingText.textContent = state.smoothing ? state.smoothing.toFixed(2) : 'off';
    for (const chart of charts) { chart.redraw(); chart.fillReadouts(); }
  } });
  const smoothingText = h('output', { text: state.smoothing ? state.smoothing.toFixed(2) : 'off' });
  const spanText = h('span', { class: 'count' });
  const all = h('button', { type: 'button', text: 'Show all', hidden: true, onclick: () => shown.showAll() });
  const tools = h('div', { class: 'toolbar chart-tools', role: 'toolbar', 'aria-label': 'Charts' }, axes, h('label', {}, 'Smoothing', smoothing, smoothingText), spanText, all);

  // A part that is looked at is asked for again, in more detail.
  const refine = whenQuiet(250, async () => {
    if (!shown.zoomed || state.axis !== 'time') return;
    const [from, to] = [shown.low, shown.high];
    for (const chart of charts.filter((one) => one.visible))
      for (const one of chart.series.filter((series) => series.points > 2 * series.count)) {
        try {
          const answer = await run.outline(one.key, { from, to, signal });
          if (shown.low !== from || shown.high !== to) return;
          one.take(answer.spans);
          one.fine = true;
          chart.redraw();
        } catch { return; }
      }
  });
  shown.listen((what) => {
    if (what !== 'window') return;
    all.hidden = !shown.zoomed;
    const text = (value) => state.axis === 'time' ? seconds(value) : String(Math.round(value * 100) / 100);
    spanText.textContent = shown.zoomed ? `${text(shown.low)} to ${text(shown.high)}` : '';
    if (shown.zoomed) refine();
    else for (const chart of charts) for (const one of chart.series) if (one.fine) { one.take(one.spans); one.fine = false; }
    announceSpan();
  }, signal);
  const announceSpan = whenQuiet(600, () => announce(shown.zoomed ? `Shown: ${spanText.textContent}` : 'All is shown'));

  const own = run.ownKeys().filter((key) => key !== 'epoch').sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  const finder = own.length > 8 ? h('input', { type: 'search', placeholder: 'Find a metric', 'aria-label': 'Find a metric', oninput: () => fill() }) : null;
  if (finder) tools.append(finder);
  const place = h('div', { class: 'charts' });
  const made = new Map();
  function fill() {
    const text = finder?.value.toLowerCase() ?? '';
    place.replaceChildren(...own.filter((key) => key.toLowerCase().includes(text)).slice(0, 200).map((key) => {
      if (!made.has(key)) made.set(key, chartOf(short(key, 200), [key]));
      return made.get(key);
    }));
  }
  fill();
  const kinds = run.hardwareKinds();
  const quiet = kinds.filter(({ keys }) => keys.every((key) => Number(run.metrics.get(key).value) === 0));
  const busy = kinds.filter((kind) => !quiet.includes(kind));
  const hardware = h('div', { class: 'charts' }, busy.map(({ id, keys }) => chartOf(keys.length === 1 && !words[id] ? titleOf(keys[0]) : titleOfKind(id), keys)));
  const rest = h('details', {}, h('summary', { text: `${quiet.length} more whose newest value is 0` }), h('div', { class: 'charts' }, quiet.map(({ id, keys }) => chartOf(titleOfKind(id), keys))));
  if (state.axis !== 'time') setAxis(state.axis);

  return {
    root: h('div', {}, tools, own.length > 0 ? h('section', { 'aria-label': 'Metrics of the run' }, place) : h('p', { class: 'note', text: 'The run has told no metrics of its own.' }),
      kinds.length > 0 && h('section', { 'aria-labelledby': 'hardware' }, h('h2', { id: 'hardware', text: 'Hardware' }), hardware, quiet.length > 0 && rest)),
    window: shown, charts,
    /// What came of the hardware since; it is not told by events.
    async more() {
      for (const chart of charts.filter((one) => one.visible && one.keys.some((key) => key.startsWith('system/'))))
        for (const one of chart.series.filter((series) => !series.fine)) {
          const { spans } = await run.outline(one.key, { signal });
          one.spans = spans;
          one.take(spans);
        }
      this.refresh();
    },
    refresh() {
      widen();
      for (const chart of charts) if (chart.visible) { chart.fillReadouts(); chart.redraw(); }
    },
  };
}

const rank = (key) => /acc/.test(key) ? 0 : /loss/.test(key) ? 1 : 2;

'use strict';
// Draws the charts over the still ones, on one axis of elapsed time. Names come from a run: they are only ever set as text.
const data = JSON.parse(document.getElementById('data').textContent);
const kHeight = 190, kRightMargin = 8, kTop = 8, kBottom = 168;
let left = 62;  // of every chart's frame: as wide as the longest label of all, so that their times stand below each other
const svgNamespace = document.querySelector('svg')?.namespaceURI;  // of the still charts

// ---- Figures for people, as text.cpp and series_catalogue.cpp write them.
function digits(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 0.9995) return String(Number(value.toPrecision(3)));
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}
function scaled(value, unit, base, prefixes) {
  let prefix = 0;
  while (prefix + 1 < prefixes.length && Math.round(Math.abs(value)) >= base) { value /= base; ++prefix; }
  return `${prefix === 0 && Number.isInteger(value) ? value : digits(value)} ${prefixes[prefix]}${unit}`;
}
const kLarge = ['', 'k', 'M', 'G', 'T', 'P'], kBinary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];
const write = {
  share: (v) => (v === 0 ? '0 %' : `${(100 * v).toFixed(Math.abs(100 * v) < 9.95 ? 1 : 0)} %`),
  bytes: (v) => scaled(Math.round(v), 'B', 1024, kBinary),
  bytes_per_second: (v) => scaled(v, 'B/s', 1000, kLarge),
  watts: (v) => scaled(v, 'W', 1000, kLarge),
  joules: (v) => scaled(v, 'J', 1000, kLarge),
  hertz: (v) => scaled(v, 'Hz', 1000, kLarge),
  celsius: (v) => `${v.toFixed(0)} °C`,
  cores: (v) => `${v.toFixed(Math.abs(v) < 9.95 ? 2 : 1)} cores`,
  count: (v) => String(Number(v.toPrecision(3))),
  plain: (v, unit) => `${Number(v.toPrecision(5))}${unit && unit !== '1' ? ` ${unit}` : ''}`,
};
function valueText(value, chart) {
  return Number.isFinite(value) ? (write[chart.shown] || write.plain)(value, chart.unit) : '–';
}
// At an axis; the caption names the unit of the command's own metrics, and that these are cores.
function markOf(value, chart) {
  return (write[chart.shown] || write.plain)(value, '').replace(' cores', '');
}
const measuring = document.createElement('canvas').getContext('2d');
measuring.font = '12px system-ui, sans-serif';  // as the style sheet says of labels
function textWidth(text) {
  return measuring.measureText(text).width;
}
function timeText(seconds) {
  const size = Math.abs(seconds);
  if (size < 120) return `${Number(seconds.toPrecision(4))} s`;
  if (size < 7200) return `${Number((seconds / 60).toPrecision(4))} min`;
  if (size < 48 * 3600) return `${Number((seconds / 3600).toPrecision(4))} h`;
  return `${Number((seconds / 86400).toPrecision(4))} d`;
}
// All marks of an axis in the unit of its end.
function markText(seconds, end) {
  const [unit, length] = end < 120 ? ['s', 1] : end < 7200 ? ['min', 60] : end < 48 * 3600 ? ['h', 3600] : ['d', 86400];
  return `${Number((seconds / length).toPrecision(4))} ${unit}`;
}

// ---- Series: times and steps come as differences.
function decode(line) {
  let time = 0, step = 0;
  line.time = Float64Array.from(line.t, (difference) => (time += difference) / 1000);
  line.step = line.s ? Float64Array.from(line.s, (difference) => (step += difference)) : null;
  const numbers = (list) => list && Float64Array.from(list, (v) => (v === null ? NaN : v));
  line.value = numbers(line.v);
  line.low = numbers(line.l) || line.value;
  line.high = numbers(line.h) || line.value;
  line.count = line.n || null;  // of the points that each was joined of
  line.joined = Boolean(line.l);
  line.cut = new Set(line.b || []);
  line.smooth = line.value;
  if (line.step) {
    line.byStep = Array.from(line.step.keys()).sort((a, b) => line.step[a] - line.step[b] || line.time[a] - line.time[b]);
  }
}
for (const chart of data.charts) chart.lines.forEach(decode);

// The beginning of the time that a sample stands for.
function beginOf(line, i) {
  if (line.kind === 'own') return i === 0 ? line.time[0] : line.time[i - 1];
  return i === 0 || line.cut.has(i) ? Math.max(0, line.time[i] - line.p) : line.time[i - 1];
}
function firstAfter(list, x) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= x) low = middle + 1; else high = middle;
  }
  return low;
}
// Of the command's own metrics every point counts the same, the first among them; of what was sampled, its time.
function averageOf(line, from, to) {
  let sum = 0, weight = 0, low = Infinity, high = -Infinity;
  const add = (i, part) => {
    if (part <= 0 || Number.isNaN(line.value[i])) return;
    sum += part * line.value[i];
    weight += part;
    low = Math.min(low, line.low[i]);
    high = Math.max(high, line.high[i]);
  };
  for (let i = 0; line.kind === 'own' && i < line.time.length; ++i)
    if (line.time[i] >= from && line.time[i] <= to) add(i, line.count ? line.count[i] : 1);
  for (let i = firstAfter(line.time, from); line.kind !== 'own' && i < line.time.length; ++i) {
    const begin = beginOf(line, i);
    if (begin >= to) break;
    add(i, Math.min(line.time[i], to) - Math.max(begin, from));
  }
  return weight > 0 ? { mean: sum / weight, low, high } : null;
}
function counterAt(line, time) {
  const next = firstAfter(line.time, time);
  if (next === 0) return line.value[0];
  if (next === line.time.length || line.cut.has(next)) return line.value[next - 1];
  const share = (time - line.time[next - 1]) / (line.time[next] - line.time[next - 1]);
  return line.value[next - 1] + share * (line.value[next] - line.value[next - 1]);
}
// An average that forgets, over time rather than samples; it starts anew after a gap. `strength`: seconds, or samples.
function smoothed(line, strength) {
  if (strength <= 0 || line.shape) return line.value;
  const out = new Float64Array(line.value.length);
  let now = NaN;
  for (let i = 0; i < out.length; ++i) {
    const value = line.value[i];
    const distance = line.kind === 'own' ? 1 : line.time[i] - beginOf(line, i);
    if (Number.isNaN(now) || line.cut.has(i)) now = value;
    else if (!Number.isNaN(value)) now += (value - now) * (1 - Math.exp(-distance / strength));
    out[i] = Number.isNaN(value) ? NaN : now;
  }
  return out;
}

// ---- What is shown.
const whole = { time: [data.from, data.to], step: stepRange() };
const state = { by: 'time', span: { time: whole.time.slice(), step: whole.step.slice() }, cross: { time: null, step: null }, smoothing: 0,
  hidden: new Set() };  // runs, by place
function stepRange() {
  let low = Infinity, high = -Infinity;
  for (const chart of data.charts) for (const line of chart.lines) {
    if (!line.step || line.step.length === 0) continue;
    low = Math.min(low, line.step[line.byStep[0]]);
    high = Math.max(high, line.step[line.byStep[line.byStep.length - 1]]);
  }
  return high > low ? [low, high] : [0, 1];
}
function axisOf(chart) {
  return chart.group === 'metric' ? state.by : 'time';
}

function make(name, attributes, parent) {
  const element = document.createElementNS(svgNamespace, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}
function label(parent, x, y, anchor, text, kind) {
  const element = make('text', { x, y, 'text-anchor': anchor }, parent);
  if (kind) element.setAttribute('class', kind);
  element.textContent = text;
}
// 1, 2 or 5 times a power of the base, so that about `count` marks are drawn.
function niceStep(range, count, base) {
  const rough = range / count;
  const power = Math.pow(base, Math.floor(Math.log(rough) / Math.log(base)));
  const factors = base === 10 ? [1, 2, 5, 10] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
  return power * factors.find((factor) => factor * power >= rough * 0.999);
}
function niceTimeStep(range, count) {
  const rough = range / count;
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  return rough < 1 ? niceStep(range, count, 10) : steps.find((step) => step >= rough) || niceStep(range, count, 10);
}

// The samples of a line in the order of the axis, as indices, with one outside on either side.
function visible(line, by, from, to) {
  if (by === 'step') return line.byStep.filter((i) => line.step[i] >= from && line.step[i] <= to);
  const begin = Math.max(0, firstAfter(line.time, from) - 1), end = Math.min(line.time.length, firstAfter(line.time, to) + 1);
  return Array.from({ length: end - begin }, (_, i) => begin + i);
}
function isHidden(line) {
  return line.runs.every((run) => state.hidden.has(run));
}
// One point for each column of pixels: mean (of what counts up the last), lowest and highest; a gap ends a piece.
function columns(line, by, from, to, width) {
  const pieces = [];
  let piece = [], now = null;
  const close = () => { if (now) piece.push(now); now = null; };
  const cut = () => { close(); if (piece.length) pieces.push(piece); piece = []; };
  for (const i of visible(line, by, from, to)) {
    const value = line.smooth[i];
    if (Number.isNaN(value)) { cut(); continue; }
    if (by === 'time' && line.cut.has(i)) cut();
    const x = ((by === 'time' ? line.time : line.step)[i] - from) / (to - from) * width;
    const column = Math.round(x);
    if (now && now.column !== column) close();
    const low = state.smoothing ? value : line.low[i], high = state.smoothing ? value : line.high[i];
    // A sample stands for the time since the one before: after a gap, and at first, the line begins there.
    if (!now && piece.length === 0 && by === 'time' && (line.kind === 'gauge' || line.kind === 'flags'))
      piece.push({ x: (beginOf(line, i) - from) / (to - from) * width, sum: value, count: 1, low, high });
    if (!now) now = { column, x, sum: 0, count: 0, low: Infinity, high: -Infinity };
    if (line.shape === 'after') { now.sum = value; now.count = 1; }  // a count: between two of its values there is none
    else { now.sum += value; now.count += 1; }
    now.x = x;
    now.low = Math.min(now.low, low); now.high = Math.max(now.high, high);
  }
  cut();
  return pieces;
}

function verticalRange(chart, drawn) {
  let low = Infinity, high = -Infinity;
  for (const pieces of drawn) for (const piece of pieces) for (const point of piece) {
    if (point.x < -1) continue;
    low = Math.min(low, chart.shown === 'plain' ? point.sum / point.count : point.low);
    high = Math.max(high, chart.shown === 'plain' ? point.sum / point.count : point.high);
  }
  if (!(low <= high)) return [0, 1];
  if (chart.shown !== 'plain') low = Math.min(low, 0);
  if (chart.shown === 'share' && high > 0.2) high = Math.max(high, 1);
  for (const [limit] of chart.limits) if (limit < 3 * high) high = Math.max(high, 1.02 * limit);
  if (!(high > low) && chart.shown === 'plain') {  // one value alone stands in the middle
    const around = low === 0 ? 1 : 0.5 * Math.abs(low);
    low -= around;
    high += around;
  }
  if (!(high > low)) high = low + Math.max(Math.abs(low), { share: 0.1, bytes: 1 << 20, bytes_per_second: 1e6 }[chart.shown] || 1);
  const margin = chart.shown === 'share' && high === 1 ? 0 : 0.05 * (high - low);
  return [chart.shown === 'plain' ? low - margin : low, high + margin];
}

// Values across which a line is drawn, with what stands at it.
function marksOf(chart, low, high) {
  const step = niceStep(high - low, 4, chart.shown === 'bytes' ? 1024 : 10), out = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-6; value += step)
    out.push([value, markOf(Math.abs(value) < step * 1e-6 ? 0 : value, chart)]);
  return out;
}
function drawAxes(chart, svg, view) {
  const { high, right, y, from, to, by } = view;
  for (const [value, text] of view.marks) {
    make('line', { class: 'rule', x1: left, x2: right, y1: y(value), y2: y(value) }, svg);
    label(svg, left - 6, y(value) + 4, 'end', text);
  }
  const count = Math.max(2, (right - left) / 110);
  const across = by === 'time' ? niceTimeStep(to - from, count) : Math.max(1, niceStep(to - from, count, 10));
  for (let mark = Math.ceil(from / across) * across; mark <= to + across * 1e-6; mark += across) {
    const x = left + (mark - from) / (to - from) * (right - left);
    const text = by === 'time' ? markText(mark, to) : String(Number(mark.toPrecision(8)));
    const half = textWidth(text) / 2, last = right + kRightMargin - half;
    make('line', { class: 'rule', x1: x, x2: x, y1: kBottom, y2: kBottom + 4 }, svg);
    label(svg, Math.max(half, Math.min(x, last)), kHeight - 6, 'middle', text);
  }
  for (const [limit, text] of chart.limits) {
    if (limit > high) continue;
    make('line', { class: 'limit', x1: left, x2: right, y1: y(limit), y2: y(limit) }, svg);
    label(svg, right - 2, y(limit) + (y(limit) > kTop + 14 ? -4 : 13), 'end', text, 'limit');
  }
}

// From point to point, or as steps: a counter's value holds until the next, a sampled number since the one before.
function pathOf(line, piece, at) {
  let path = '';
  for (const p of piece) {
    const [x, y] = at(p);
    path += path === '' ? `M${x} ${y}` : line.shape === 'after' ? `H${x}V${y}` : line.shape === 'before' ? `V${y}H${x}` : `L${x} ${y}`;
  }
  return piece.length === 1 ? `${path}h1` : path;
}
// Few points of the command's own are seen as points; so is a sample that stands alone, which a line would hide.
const kFewPoints = 30;
function drawLine(line, pieces, svg, y, end) {
  const color = `run-${line.color}`;
  const few = line.kind === 'own' && !line.shape && pieces.reduce((sum, piece) => sum + piece.length, 0) <= kFewPoints;
  let path = '', band = '', dots = '';
  for (const piece of pieces) {
    if (few || piece[piece.length - 1].x - piece[0].x < 1)
      dots += piece.map((p) => `M${(left + p.x).toFixed(1)} ${y(p.sum / p.count).toFixed(1)}h0`).join('');
    const point = (p, value) => `${(left + p.x).toFixed(1)} ${y(value).toFixed(1)}`;
    path += pathOf(line, piece, (p) => [(left + p.x).toFixed(1), y(p.sum / p.count).toFixed(1)]);
    if (!state.smoothing && piece.some((p) => p.high > p.low))
      band += `M${piece.map((p) => point(p, p.high)).join('L')}L${piece.slice().reverse().map((p) => point(p, p.low)).join('L')}Z`;
  }
  // What the command counts is so until its end.
  if (path && line.shape === 'after' && line.kind === 'own' && end > left) path += `H${end.toFixed(1)}`;
  if (band && !line.faint && !line.shape) make('path', { class: `band ${color}`, d: band }, svg);
  make('path', { class: `line ${color}${line.faint ? ' faint' : ''}`, d: path }, svg);
  if (dots) make('path', { class: `dots ${color}`, d: dots }, svg);
}

// What a chart's frame needs, before any is drawn: the longest label of all says where the frames begin.
function plan(chart) {
  const by = axisOf(chart), [from, to] = state.span[by];
  chart.width = Math.max(240, chart.figure.clientWidth);
  chart.drawn = chart.lines.map((line) =>
    (isHidden(line) || (by === 'step' && !line.step) ? [] : columns(line, by, from, to, chart.width - kRightMargin - left)));
  chart.range = verticalRange(chart, chart.drawn);
  chart.marks = marksOf(chart, ...chart.range);
  return Math.max(0, ...chart.marks.map(([, text]) => textWidth(text)));
}
function draw(chart) {
  const by = axisOf(chart), [from, to] = state.span[by];
  const width = chart.width, right = width - kRightMargin, marks = chart.marks;
  const drawn = chart.drawn, [low, high] = chart.range;
  const y = (value) => kBottom - (value - low) / (high - low) * (kBottom - kTop);
  const svg = chart.svg;
  svg.setAttribute('viewBox', `0 0 ${width} ${kHeight}`);
  svg.dataset.left = left;
  svg.replaceChildren();
  drawAxes(chart, svg, { high, right, y, from, to, by, marks });
  // An svg within clips what is drawn beyond the frame; a point at its edge is seen whole.
  const lines = make('svg', { x: left - 3, y: 0, width: right - left + 6, height: kHeight, viewBox: `${left - 3} 0 ${right - left + 6} ${kHeight}` }, svg);
  const endOf = (line) => (by === 'time' ? left + (Math.min(to, Math.max(...line.runs.map((run) => data.runs[run].to))) - from) / (to - from) * (right - left) : 0);
  chart.lines.forEach((line, i) => drawLine(line, drawn[i], lines, y, endOf(line)));
  chart.choice = make('rect', { class: 'choice', y: kTop, height: kBottom - kTop, width: 0 }, svg);
  chart.cross = make('line', { class: 'cross', y1: kTop, y2: kBottom, visibility: 'hidden' }, svg);
  chart.view = { from, to, right };
}

// ---- The crosshair: one for all charts of an axis.
function valueAt(line, by, at) {
  if (by === 'step') {
    if (!line.step || line.byStep.length === 0) return NaN;
    let best = line.byStep[0];
    for (const i of line.byStep) if (line.step[i] <= at) best = i; else break;
    return line.smooth[best];
  }
  const holds = line.kind === 'own' || line.shape === 'after';
  const i = holds ? firstAfter(line.time, at) - 1 : firstAfter(line.time, at - 1e-9);
  if (i < 0 || i >= line.time.length) return NaN;
  return !holds && beginOf(line, i) > at ? NaN : line.smooth[i];
}
function showCross(by) {
  const at = state.cross[by];
  for (const chart of data.charts) {
    if (axisOf(chart) !== by) continue;
    const { from, to, right } = chart.view;
    const shown = at !== null && at >= from && at <= to;
    chart.cross.setAttribute('visibility', shown ? 'visible' : 'hidden');
    if (shown) {
      const x = left + (at - from) / (to - from) * (right - left);
      chart.cross.setAttribute('x1', x);
      chart.cross.setAttribute('x2', x);
    }
    chart.lines.forEach((line, i) => {
      const text = shown ? valueText(valueAt(line, by, at), chart) : '';
      chart.readouts[i].textContent = text;
    });
    chart.where.textContent = shown ? ` at ${by === 'time' ? timeText(at) : `step ${Math.round(at)}`}` : '';
  }
}

// ---- Averages over the span that is shown.
const rows = Array.from(document.querySelectorAll('#averages tbody tr'));
function findLine(metric, run) {
  for (const chart of data.charts) for (const line of chart.lines)
    if (line.metric === metric && line.runs.includes(run)) return [chart, line];
  return [null, null];
}
const cells = rows.map((row) => data.runs.map((known, run) => {
  const cell = row.cells[run + 1];
  return [cell, known, [cell.firstElementChild.textContent, cell.lastElementChild.textContent], ...findLine(row.dataset.metric, run)];
}));
function showAverages() {
  const [from, to] = state.span.time, zoomed = from > whole.time[0] || to < whole.time[1];
  for (const row of cells) for (const [cell, run, ofWhole, chart, line] of row) {
    if (!line) continue;
    let text = '–', range = '';
    // A line that runs share goes on after the end of one of them.
    const begin = Math.max(from, run.from), end = Math.min(to, run.to);
    const average = averageOf(line, begin, end);
    if (!zoomed) {
      [text, range] = ofWhole;  // made of all samples: as the report's other forms say it
    } else if (average && line.kind === 'counter') {
      text = `${valueText(Math.max(0, counterAt(line, end) - counterAt(line, begin)), chart)} in all`;
    } else if (average) {
      text = valueText(average.mean, chart);
      range = `${valueText(average.low, chart)} – ${valueText(average.high, chart)}`;
    }
    cell.firstElementChild.textContent = text;
    cell.lastElementChild.textContent = range;
  }
  const note = document.getElementById('averages-span');
  if (note) note.textContent = zoomed ? `Over ${timeText(from)} to ${timeText(to)}.` : 'Over the whole.';
  document.getElementById('span').textContent = `${timeText(from)} – ${timeText(to)}`;
  document.getElementById('reset').disabled = !zoomed && state.span.step.every((edge, i) => edge === whole.step[i]);
}

let waiting = false;
function refresh() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    const before = left;
    left = 10 + Math.ceil(Math.max(30, ...data.charts.map(plan)));
    if (left !== before) data.charts.forEach(plan);
    data.charts.forEach(draw);
    showAverages();
    showCross('time');
    showCross('step');
  });
}

// ---- Zoom.
function zoom(by, from, to) {
  const [least, most] = whole[by];
  const smallest = (most - least) / 20000;
  from = Math.max(least, from);
  to = Math.min(most, to);
  if (to - from < smallest) return;
  state.span[by] = [from, to];
  refresh();
}
function reset() {
  state.span = { time: whole.time.slice(), step: whole.step.slice() };
  refresh();
}
function positionOf(chart, event) {
  const box = chart.svg.getBoundingClientRect(), { from, to, right } = chart.view;
  const x = (event.clientX - box.left) / box.width * (right + kRightMargin);
  return Math.min(to, Math.max(from, from + (x - left) / (right - left) * (to - from)));
}
function choose(chart, begin, end) {
  const { from, to, right } = chart.view;
  const place = (value) => left + (value - from) / (to - from) * (right - left);
  chart.choice.setAttribute('x', place(Math.min(begin, end)));
  chart.choice.setAttribute('width', Math.abs(place(end) - place(begin)));
}
function listen(chart) {
  let begin = null;
  chart.svg.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || event.pointerType === 'touch') return;
    begin = positionOf(chart, event);
    chart.svg.setPointerCapture(event.pointerId);
  });
  chart.svg.addEventListener('pointermove', (event) => {
    const at = positionOf(chart, event);
    state.cross[axisOf(chart)] = at;
    showCross(axisOf(chart));
    if (begin !== null) choose(chart, begin, at);
  });
  chart.svg.addEventListener('pointerup', (event) => {
    if (begin === null) return;
    const end = positionOf(chart, event), by = axisOf(chart), { from, to, right } = chart.view;
    const pixels = Math.abs(end - begin) / (to - from) * (right - left);
    if (pixels > 4) zoom(by, Math.min(begin, end), Math.max(begin, end));
    choose(chart, begin, begin);
    begin = null;
  });
  chart.svg.addEventListener('pointercancel', () => { begin = null; });
  chart.svg.addEventListener('pointerleave', () => {
    state.cross[axisOf(chart)] = null;
    showCross(axisOf(chart));
  });
  chart.svg.addEventListener('dblclick', reset);
  chart.svg.addEventListener('keydown', (event) => pressed(chart, event));
}
function pressed(chart, event) {
  const by = axisOf(chart), [from, to] = state.span[by], length = to - from;
  const at = state.cross[by] === null ? from + length / 2 : state.cross[by];
  const move = (to_) => { state.cross[by] = Math.min(to, Math.max(from, to_)); showCross(by); };
  const scale = (factor) => zoom(by, at - (at - from) * factor, at + (to - at) * factor);
  const shift = (share) => {
    const by_ = Math.max(whole[by][0] - from, Math.min(whole[by][1] - to, share * length));
    zoom(by, from + by_, to + by_);
  };
  const actions = {
    ArrowLeft: () => (event.shiftKey ? shift(-0.2) : move(at - length / 100)),
    ArrowRight: () => (event.shiftKey ? shift(0.2) : move(at + length / 100)),
    Home: () => move(from), End: () => move(to),
    '+': () => scale(0.5), '=': () => scale(0.5), '-': () => scale(2), Escape: reset, 0: reset,
  };
  if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

// ---- What is shown, as a table for other programs.
function csv() {
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  // A leading =, +, - or @ would be a formula in a spreadsheet.
  const named = (text) => quoted(/^[=+\-@\t]/.test(text) ? `'${text}` : text);
  const out = ['run,name,metric,unit,seconds,step,value,lowest,highest,points_joined'];
  for (const chart of data.charts) {
    if (chart.figure.closest('.group').hidden) continue;
    const by = axisOf(chart), [from, to] = state.span[by];
    for (const line of chart.lines) for (let i = 0; i < line.time.length && !isHidden(line); ++i) {
      const at = by === 'time' ? line.time[i] : line.step ? line.step[i] : NaN;
      if (!(at >= from && at <= to)) continue;
      out.push([line.runs.map((run) => data.runs[run].id).join(' '), named(line.runs.map((run) => data.runs[run].title).join('; ')), named(line.metric), quoted(chart.unit || chart.shown),
        line.time[i], line.step ? line.step[i] : '', line.value[i], line.low[i], line.high[i], line.joined ? 'yes' : 'no'].join(','));
    }
  }
  return out.join('\r\n') + '\r\n';
}
function save() {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([csv()], { type: 'text/csv' }));
  link.download = `plimsoll-${data.runs.map((run) => run.id).join('-').slice(0, 100)}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// ---- Begin.
function smooth(position) {
  // From a thousandth to a fifth of the whole, in seconds; for the command's metrics up to a hundred points.
  state.smoothing = position;
  const seconds = position === 0 ? 0 : (whole.time[1] - whole.time[0]) / 1000 * Math.pow(200, position / 100);
  const points = position === 0 ? 0 : Math.pow(100, position / 100);
  for (const chart of data.charts) for (const line of chart.lines) line.smooth = smoothed(line, line.kind === 'own' ? points : seconds);
  document.getElementById('smoothed').textContent = position === 0 ? 'none' : `${timeText(Number(seconds.toPrecision(2)))}, ${Math.round(points)} points`;
  refresh();
}
document.documentElement.classList.add('scripted');
data.charts.forEach((chart, index) => {
  chart.index = index;
  chart.figure = document.querySelector(`[data-chart="${index}"]`);
  chart.svg = chart.figure.querySelector('svg');
  chart.svg.setAttribute('tabindex', '0');
  chart.readouts = Array.from(chart.figure.querySelectorAll('[data-line] b'));
  chart.where = document.createElement('small');
  chart.where.className = 'where';
  chart.figure.querySelector('figcaption').append(chart.where);
  listen(chart);
});
if (data.charts.length > 0) {
  document.getElementById('smoothing').addEventListener('input', (event) => smooth(Number(event.target.value)));
  document.getElementById('reset').addEventListener('click', reset);
  document.getElementById('export').addEventListener('click', save);
  document.getElementById('controls').addEventListener('submit', (event) => event.preventDefault());
  for (const box of document.querySelectorAll('[name=group]'))
    box.addEventListener('change', () => {
      document.querySelector(`.group[data-group="${box.value}"]`).hidden = !box.checked;
      refresh();
    });
  for (const box of document.querySelectorAll('[name=run]'))
    box.addEventListener('change', () => {
      if (box.checked) state.hidden.delete(Number(box.value)); else state.hidden.add(Number(box.value));
      refresh();
    });
  for (const radio of document.querySelectorAll('[name=axis]'))
    radio.addEventListener('change', () => { state.by = radio.value; refresh(); });
  for (const folded of document.querySelectorAll('details.zero')) folded.addEventListener('toggle', refresh);
  addEventListener('resize', refresh);
  refresh();
}

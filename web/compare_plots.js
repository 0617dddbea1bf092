// Charts of values of several runs: parallel coordinates, scatter, box plots.

import { number, short } from './format.js';
import { Plot } from './plot.js';
import { Scale, ticks } from './scale.js';

const colourOf = (palette, i) => palette.series[i % palette.series.length];

/// Places of texts stand side by side in the order in which they sort.
function placesOf(field) {
  if (field.isNumber) return { values: field.values, names: null };
  const names = [...new Set(field.values.filter((value) => value !== null))].sort();
  return { values: field.values.map((value) => value === null ? NaN : names.indexOf(value)), names };
}

function ends(values) {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return [0, 1];
  const low = Math.min(...known);
  const high = Math.max(...known);
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

export class ParallelPlot extends Plot {
  constructor(options) {
    super({ title: 'Parallel coordinates', height: 300, ...options });
    this.marked = -1;
  }

  setFields(fields) {
    this.fields = fields.map((field) => {
      const { values, names } = placesOf(field);
      return { ...field, places: values, names, ends: ends(values) };
    });
    this.draw();
  }

  setMarked(i) {
    if (this.marked !== i) { this.marked = i; this.draw(); }
  }

  at(k, width) {
    const n = this.fields.length;
    return n < 2 ? width / 2 : 50 + k * (width - 110) / (n - 1);
  }

  yOf(field, i, height) {
    const value = field.places[i];
    return Number.isFinite(value) ? height - 30 - (value - field.ends[0]) / (field.ends[1] - field.ends[0]) * (height - 66) : NaN;
  }

  paint(pen, width, height, palette) {
    if (!this.fields) return;
    const xs = this.fields.map((_, k) => this.at(k, width));
    this.runs.forEach((_, i) => {
      const dim = this.marked >= 0 && this.marked !== i;
      pen.line(xs, this.fields.map((field) => this.yOf(field, i, height)), { colour: colourOf(palette, i), alpha: dim ? 0.12 : 0.8, width: this.marked === i ? 3 : 1.6 });
    });
    const room = Math.max(6, Math.floor(width / Math.max(1, this.fields.length) / 6.5));
    this.fields.forEach((field, k) => {
      pen.line([xs[k], xs[k]], [36, height - 30], { colour: palette.faint, width: 1 });
      pen.text(xs[k], 14 + (k % 2) * 14, short(field.label, room * 2 - 3), { colour: palette.ink, anchor: 'middle' });
      const labels = field.names ? field.names.map((name, i) => [i, short(name, 16)]).slice(0, 12) : field.ends.map((value) => [value, field.text(value)]);
      for (const [value, text] of labels) {
        const y = height - 30 - (value - field.ends[0]) / (field.ends[1] - field.ends[0]) * (height - 66);
        pen.text(xs[k] + 4, field.names ? y + 4 : value === field.ends[0] ? height - 16 : y - 3 + 12, text, { colour: palette.faint, size: 10.5 });
      }
    });
  }

  point(x, y) {
    if (!this.fields) return;
    let best = -1;
    let least = 12;
    const k = this.fields.findIndex((_, i) => i + 1 < this.fields.length && x >= this.at(i, this.width) && x <= this.at(i + 1, this.width));
    if (k >= 0) {
      const part = (x - this.at(k, this.width)) / (this.at(k + 1, this.width) - this.at(k, this.width));
      this.runs.forEach((_, i) => {
        const a = this.yOf(this.fields[k], i, this.height);
        const b = this.yOf(this.fields[k + 1], i, this.height);
        const far = Math.abs(a + part * (b - a) - y);
        if (far < least) { least = far; best = i; }
      });
    }
    this.setMarked(best);
    this.say(best < 0 ? '' : `${this.runs[best].name}: ${this.fields.map((field) => `${field.label} ${field.text(field.values[best])}`).join(', ')}`);
  }

  table() {
    return { head: ['run', ...this.fields.map(({ label }) => label)], rows: this.runs.map((run, i) => [run.name, ...this.fields.map(({ values }) => values[i])]) };
  }
}

export class ScatterPlot extends Plot {
  constructor(options) {
    super({ title: 'Scatter', height: 320, ...options });
    this.marked = -1;
  }

  setFields(x, y) {
    this.x = { ...x, ...placesOf(x) };
    this.y = { ...y, ...placesOf(y) };
    this.xField = x;
    this.yField = y;
    this.draw();
  }

  scales(width, height) {
    const room = ([low, high]) => [low - (high - low) * 0.06, high + (high - low) * 0.06];
    return [new Scale(...room(ends(this.x.values)), 64, width - 14), new Scale(...room(ends(this.y.values)), height - 44, 12)];
  }

  paint(pen, width, height, palette) {
    if (!this.x) return;
    const [sx, sy] = this.scales(width, height);
    const label = (field, axis, value) => axis.names ? short(axis.names[value] ?? '', 18) : field.text(value);
    for (const value of this.y.names ? this.y.names.map((_, i) => i) : ticks(...ends(this.y.values), 6)) {
      const y = sy.at(value);
      pen.line([64, width - 14], [y, y], { colour: palette.rule, width: 1 });
      pen.text(58, y + 4, label(this.yField, this.y, value), { colour: palette.faint, anchor: 'right' });
    }
    for (const value of this.x.names ? this.x.names.map((_, i) => i) : ticks(...ends(this.x.values), Math.max(2, Math.floor(width / 130)))) pen.text(sx.at(value), height - 26, label(this.xField, this.x, value), { colour: palette.faint, anchor: 'middle' });
    pen.text(64 + (width - 78) / 2, height - 8, short(this.xField.label, 80), { colour: palette.ink, anchor: 'middle' });
    pen.text(12, height / 2, short(this.yField.label, 40), { colour: palette.ink, anchor: 'middle', turned: true });
    this.runs.forEach((_, i) => {
      const [a, b] = [this.x.values[i], this.y.values[i]];
      if (Number.isFinite(a) && Number.isFinite(b)) pen.dot(sx.at(a), sy.at(b), this.marked === i ? 8 : 5.5, { colour: colourOf(palette, i), alpha: 0.85 });
    });
  }

  point(x, y) {
    if (!this.x || !this.width) return;
    const [sx, sy] = this.scales(this.width, this.height);
    let best = -1;
    let least = 18;
    this.runs.forEach((_, i) => {
      const far = Math.hypot(sx.at(this.x.values[i]) - x, sy.at(this.y.values[i]) - y);
      if (far < least) { least = far; best = i; }
    });
    if (best !== this.marked) { this.marked = best; this.draw(); }
    this.say(best < 0 ? '' : `${this.runs[best].name}: ${this.xField.label} ${this.xField.text(this.xField.values[best])}, ${this.yField.label} ${this.yField.text(this.yField.values[best])}`);
  }

  table() {
    return { head: ['run', this.xField.label, this.yField.label], rows: this.runs.map((run, i) => [run.name, this.xField.values[i], this.yField.values[i]]) };
  }
}

export function quantile(sorted, q) {
  const at = (sorted.length - 1) * q;
  const i = Math.floor(at);
  return i + 1 < sorted.length ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

export class BoxPlot extends Plot {
  constructor(options) {
    super({ title: 'By group', height: 300, ...options });
  }

  setFields(group, value) {
    this.group = group;
    this.value = value;
    const groups = new Map();
    this.runs.forEach((_, i) => {
      const v = value.values[i];
      if (!Number.isFinite(v)) return;
      const name = group.values[i] === null || Number.isNaN(group.values[i]) ? 'none' : String(group.values[i]);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(v);
    });
    this.boxes = [...groups].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })).map(([name, values]) => {
      const sorted = values.toSorted((a, b) => a - b);
      return { name, sorted, n: sorted.length, low: sorted[0], q1: quantile(sorted, 0.25), median: quantile(sorted, 0.5), q3: quantile(sorted, 0.75), high: sorted.at(-1) };
    });
    this.draw();
  }

  paint(pen, width, height, palette) {
    if (!this.boxes?.length) return;
    const [low, high] = ends(this.boxes.flatMap(({ sorted }) => sorted));
    const sy = new Scale(low - (high - low) * 0.05, high + (high - low) * 0.05, height - 44, 12);
    for (const value of ticks(low, high, 6)) {
      pen.line([64, width - 10], [sy.at(value), sy.at(value)], { colour: palette.rule, width: 1 });
      pen.text(58, sy.at(value) + 4, this.value.text(value), { colour: palette.faint, anchor: 'right' });
    }
    const step = (width - 74) / this.boxes.length;
    const half = Math.min(34, step * 0.32);
    this.boxes.forEach((box, i) => {
      const x = 64 + step * (i + 0.5);
      const colour = palette.accent;
      pen.line([x, x], [sy.at(box.low), sy.at(box.high)], { colour, width: 1.5 });
      if (box.n > 2) {
        pen.rectangle(x - half, sy.at(box.q3), half * 2, Math.max(1, sy.at(box.q1) - sy.at(box.q3)), { colour: palette.ground });
        pen.rectangle(x - half, sy.at(box.q3), half * 2, Math.max(1, sy.at(box.q1) - sy.at(box.q3)), { colour, alpha: 0.25 });
        pen.line([x - half, x + half], [sy.at(box.median), sy.at(box.median)], { colour, width: 2.5 });
      }
      box.sorted.forEach((value, k) => pen.dot(x + (k * 7 % 11 - 5) / 11 * half, sy.at(value), 2.5, { colour: palette.ink, alpha: 0.5 }));
      pen.text(x, height - 26, short(box.name, Math.max(4, Math.floor(step / 7))), { colour: palette.ink, anchor: 'middle' });
      pen.text(x, height - 12, `n = ${box.n}`, { colour: palette.faint, anchor: 'middle', size: 10 });
    });
  }

  point(x) {
    const i = Math.floor((x - 64) / ((this.width - 74) / (this.boxes?.length || 1)));
    const box = this.boxes?.[i];
    this.say(box ? `${this.group.label} ${box.name}: median ${this.value.text(box.median)}, half between ${this.value.text(box.q1)} and ${this.value.text(box.q3)}, of ${number(box.n)}` : '');
  }

  table() {
    return { head: [this.group.label, 'runs', 'lowest', 'first quartile', 'median', 'third quartile', 'highest'], rows: (this.boxes ?? []).map((box) => [box.name, box.n, box.low, box.q1, box.median, box.q3, box.high]) };
  }
}

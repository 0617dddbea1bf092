// Lines over a common axis, on a canvas. What is drawn is an outline of some thousand spans, so that a frame costs the
// same for a hundred points and for a million.

import { h, perFrame } from './dom.js';
import { quantity, seconds, number, share } from './format.js';
import { CanvasPen, SvgPen } from './pen.js';
import { Scale, byteTicks, logTicks, ticks, timeTick, timeTicks } from './scale.js';
import { extent, firstAtLeast, nearest } from './series.js';
import { colours, onTheme } from './theme.js';

// Amounts: their axis begins at nothing. Of temperatures and losses only the change is told.
const fromZero = new Set(['B', 'B/s', 'W', 'J', 'cores', 'share', 's']);
const margin = { left: 58, right: 10, top: 8, bottom: 22 };

/// Joins what falls into the same three pixels, in place: the mean of means, lowest and highest. Returns how many are left.
function fold(xs, ys, lows, highs, n) {
  let out = -1;
  let column = NaN;
  let parts = 0;
  for (let i = 0; i < n; i += 1) {
    const at = Math.floor(xs[i] / 3);
    if (at !== column || Number.isNaN(ys[i]) || Number.isNaN(ys[out])) {
      column = at;
      out += 1;
      parts = 1;
      [xs[out], ys[out], lows[out], highs[out]] = [xs[i], ys[i], lows[i], highs[i]];
    } else {
      parts += 1;
      ys[out] += (ys[i] - ys[out]) / parts;
      lows[out] = Math.max(lows[out], lows[i]);
      highs[out] = Math.min(highs[out], highs[i]);
    }
  }
  return out + 1;
}

export class LineChart {
  /// options: title, unit, series, window, axis(), smoothing(), clocks(), height, signal
  constructor(options) {
    Object.assign(this, { height: 190, series: [], hiddenNames: new Set(), logarithmic: false, smoothing: () => 0, axis: () => 'time', clocks: () => undefined }, options);
    this.canvas = h('canvas', { class: 'plot', tabindex: 0, role: 'img', 'aria-roledescription': 'chart', 'aria-label': this.label() });
    this.legend = h('ul', { class: 'legend' });
    this.root = h('div', { class: 'line-chart' }, this.canvas, this.legend);
    this.redraw = perFrame(() => this.draw());
    this.width = 0;
    this.visible = false;
    this.window.listen((what) => this.visible && (what === 'cross' ? this.drawCross() : this.redraw()), this.signal);
    onTheme(() => { this.palette = undefined; this.redraw(); this.fillLegend(); }, this.signal);
    this.observe();
    this.listenToPointer();
    this.canvas.addEventListener('keydown', (event) => this.onKey(event));
  }

  label() {
    const points = this.series.reduce((sum, one) => sum + one.points, 0);
    return `${this.title}: ${this.series.length} ${this.series.length === 1 ? 'line' : 'lines'}, ${number(points)} points. Arrow keys move, plus and minus zoom, 0 shows all; "Table" shows the numbers.`;
  }

  observe() {
    const sizes = new ResizeObserver(([entry]) => {
      this.width = entry.contentRect.width;
      this.redraw();
    });
    sizes.observe(this.root);
    const sight = new IntersectionObserver(([entry]) => {
      this.visible = entry.isIntersecting;
      if (this.visible) { this.redraw(); this.wanted?.(); }
    }, { rootMargin: '100px' });
    sight.observe(this.root);
    this.signal?.addEventListener('abort', () => { sizes.disconnect(); sight.disconnect(); });
  }

  setSeries(series) {
    this.series = series;
    this.canvas.setAttribute('aria-label', this.label());
    this.fillLegend();
    this.redraw();
  }

  shown() {
    return this.series.filter((one) => !this.hiddenNames.has(one.name));
  }

  colourOf(series, palette = this.palette) {
    return palette.series[series.colour % palette.series.length];
  }

  format(value) {
    return quantity(value, this.unit);
  }

  /// The scales for a width; nothing where there is nothing to draw.
  scales(width, height) {
    const axis = this.axis();
    let low = Infinity;
    let high = -Infinity;
    const bands = !this.smoothing();
    for (const one of this.shown()) {
      const [a, b] = extent(one, one.along(axis, this.clocks()), this.window.low, this.window.high, { positive: this.logarithmic, bands });
      low = Math.min(low, a);
      high = Math.max(high, b);
    }
    if (!(high >= low)) [low, high] = [0, 1];
    if (!this.logarithmic) {
      if (low > 0 && (low < (high - low) * 0.6 || fromZero.has(this.unit))) low = 0;
      if (this.unit === 'share' && low >= 0 && high <= 1.0001) { low = 0; high = Math.max(high, 0.1); }
      const room = (high - low || Math.abs(high) || 1) * 0.05;
      if (low !== 0) low -= room;
      high += high === 0 && low < 0 ? 0 : room;
    }
    return {
      x: new Scale(this.window.low, this.window.high, margin.left, width - margin.right),
      y: new Scale(low, high, height - margin.bottom, margin.top, this.logarithmic),
      low, high,
    };
  }

  draw() {
    if (!this.width || !this.canvas.isConnected) return;
    const ratio = window.devicePixelRatio || 1;
    const width = this.width;
    const height = this.height;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.height = `${height}px`;
    }
    const begun = performance.now();
    const context = this.canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.palette ??= colours();
    this.scale = this.paint(new CanvasPen(context), width, height, this.palette);
    if (!Number.isNaN(this.window.cross) || this.choice) this.paintCross(new CanvasPen(context));
    this.lastDraw = performance.now() - begun;
  }

  drawCross() {
    this.redraw();
    this.fillReadouts();
  }

  paint(pen, width, height, palette) {
    const scale = this.scales(width, height);
    this.paintAxes(pen, width, height, palette, scale);
    pen.within(margin.left, margin.top - 4, width - margin.left - margin.right, height - margin.top - margin.bottom + 8, () => {
      for (const one of this.shown()) this.paintSeries(pen, one, scale, palette);
    });
    return scale;
  }

  paintAxes(pen, width, height, palette, scale) {
    const span = scale.high - scale.low;
    const count = Math.max(2, Math.floor(height / 45));
    const rows = this.logarithmic ? logTicks(scale.low, scale.high) : (this.unit.startsWith('B') ? byteTicks : ticks)(scale.low, scale.high, count);
    for (const value of rows) {
      const y = Math.round(scale.y.at(value)) + 0.5;
      if (y < margin.top - 2 || y > height - margin.bottom + 1) continue;
      pen.line([margin.left, width - margin.right], [y, y], { colour: palette.rule, width: 1 });
      pen.text(margin.left - 6, y + 3.5, this.tick(value, span), { colour: palette.faint, anchor: 'right' });
    }
    const time = this.axis() === 'time';
    const most = Math.max(2, Math.floor((width - margin.left) / 90));
    const columns = time ? timeTicks(this.window.low, this.window.high, most) : ticks(this.window.low, this.window.high, most);
    for (const value of columns) {
      const x = scale.x.at(value);
      pen.text(Math.min(x, width - margin.right - 14), height - 6, this.axis() === 'share' ? share(value) : time ? timeTick(value, this.window.high - this.window.low) : number(value, 6), { colour: palette.faint, anchor: 'middle' });
    }
  }

  tick(value, span) {
    if (this.unit === 'share') return share(value);
    if (this.unit === 's') return seconds(value);
    if (!this.unit || this.unit === '1') return number(value, span < Math.abs(value) / 100 ? 6 : 4);
    return quantity(value, this.unit);
  }

  paintSeries(pen, one, { x, y }, palette) {
    const along = one.along(this.axis(), this.clocks());
    const from = Math.max(0, firstAtLeast(along, this.window.low, one.count) - 1);
    const to = Math.min(one.count, firstAtLeast(along, this.window.high, one.count) + 1);
    let n = Math.max(0, to - from);
    const smoothing = this.smoothing();
    const values = one.values(smoothing);
    if (!this.xs || this.xs.length < n) {
      const size = Math.max(n, 4096);
      [this.xs, this.ys, this.lows, this.highs] = [0, 0, 0, 0].map(() => new Float64Array(size));
    }
    const { xs, ys, lows, highs } = this;
    for (let i = 0; i < n; i += 1) {
      xs[i] = x.at(along[from + i]);
      const v = values[from + i];
      ys[i] = Number.isFinite(v) ? y.at(v) : NaN;
    }
    const colour = this.colourOf(one, palette);
    const dense = n > (x.at(this.window.high) - x.at(this.window.low));
    if (!smoothing && (one.joined || dense)) {
      for (let i = 0; i < n; i += 1) {
        const low = one.low[from + i];
        const high = one.high[from + i];
        lows[i] = Number.isFinite(low) ? y.at(low) : NaN;
        highs[i] = Number.isFinite(high) ? y.at(high) : lows[i];
      }
      if (dense) n = fold(xs, ys, lows, highs, n);
      pen.band(xs, lows, highs, { colour, count: n, alpha: 0.28 });
    }
    if (smoothing) {
      for (let i = 0; i < n; i += 1) lows[i] = Number.isFinite(one.mean[from + i]) ? y.at(one.mean[from + i]) : NaN;
      pen.line(xs, lows, { colour, width: 1, alpha: 0.25, count: n });
    }
    pen.line(xs, ys, { colour, count: n, dash: one.dash, step: one.steps });
    if (n <= 40) for (let i = 0; i < n; i += 1) if (!Number.isNaN(ys[i])) pen.dot(xs[i], ys[i], 2.5, { colour });
  }

  paintCross(pen) {
    const { x, y } = this.scale;
    if (this.choice) {
      const [a, b] = this.choice.map((value) => x.at(value));
      pen.rectangle(Math.min(a, b), margin.top, Math.abs(b - a), this.height - margin.top - margin.bottom, { colour: this.palette.accent, alpha: 0.18 });
    }
    const at = this.window.cross;
    if (Number.isNaN(at) || at < this.window.low || at > this.window.high) return;
    pen.line([x.at(at), x.at(at)], [margin.top, this.height - margin.bottom], { colour: this.palette.ink, width: 1, alpha: 0.5 });
    for (const one of this.shown()) {
      const i = this.placeOf(one);
      const value = one.values(this.smoothing())[i];
      if (i >= 0 && Number.isFinite(value)) pen.dot(x.at(one.along(this.axis(), this.clocks())[i]), y.at(value), 3.5, { colour: this.colourOf(one) });
    }
  }

  placeOf(one) {
    const along = one.along(this.axis(), this.clocks());
    return one.count === 0 ? -1 : nearest(along, this.window.cross, one.count);
  }

  fillLegend() {
    this.palette ??= colours();
    this.readouts = new Map();
    this.legend.replaceChildren(...this.series.map((one) => {
      const key = h('i', { class: `key c${one.colour % 12}${one.dash ? ' dashed' : ''}` });
      const readout = h('b', {});
      this.readouts.set(one, readout);
      return h('li', {}, h('button', { class: 'entry', type: 'button', 'aria-pressed': String(!this.hiddenNames.has(one.name)), title: 'Show or hide this line',
        onclick: (event) => this.toggle(one.name, event.currentTarget) }, key, h('span', { text: one.name }), ' ', readout));
    }));
    this.fillReadouts();
  }

  toggle(name, button) {
    if (!this.hiddenNames.delete(name)) this.hiddenNames.add(name);
    button.setAttribute('aria-pressed', String(!this.hiddenNames.has(name)));
    this.redraw();
  }

  fillReadouts() {
    for (const [one, readout] of this.readouts ?? []) {
      const i = Number.isNaN(this.window.cross) ? one.count - 1 : this.placeOf(one);
      const text = i < 0 ? '' : this.format(one.values(this.smoothing())[i]);
      if (readout.textContent !== text) readout.textContent = text;
    }
  }

  place(event) {
    return this.scale ? this.scale.x.value(event.offsetX) : NaN;
  }

  listenToPointer() {
    const { canvas } = this;
    let grip = null;
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || !this.scale) return;
      canvas.setPointerCapture(event.pointerId);
      grip = { x: event.offsetX, pan: event.shiftKey, low: this.window.low, high: this.window.high };
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!this.scale) return;
      if (grip?.pan) {
        const by = (grip.x - event.offsetX) / (this.width - margin.left - margin.right) * (grip.high - grip.low);
        const room = this.window.whole;
        const shift = Math.max(room[0] - grip.low, Math.min(room[1] - grip.high, by));
        this.window.show(grip.low + shift, grip.high + shift);
        return;
      }
      const at = this.place(event);
      if (grip && Math.abs(event.offsetX - grip.x) > 4) this.choice = [this.scale.x.value(grip.x), at];
      this.window.setCross(at);
    });
    const end = () => {
      if (grip && this.choice) {
        const [a, b] = this.choice.toSorted((p, q) => p - q);
        this.choice = undefined;
        this.window.show(Math.max(a, this.window.low), Math.min(b, this.window.high));
      }
      grip = null;
    };
    canvas.addEventListener('pointerup', end);
    canvas.addEventListener('pointercancel', () => { grip = null; this.choice = undefined; this.redraw(); });
    canvas.addEventListener('pointerleave', () => { if (!grip) this.window.setCross(NaN); });
    canvas.addEventListener('dblclick', () => this.window.showAll());
    canvas.addEventListener('wheel', (event) => {
      if (event.ctrlKey || event.altKey) {
        event.preventDefault();
        this.window.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.place(event));
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && this.window.zoomed) {
        event.preventDefault();
        this.window.pan(event.deltaX / this.width);
      }
    }, { passive: false });
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = (this.window.high - this.window.low) / 50;
    const cross = Number.isNaN(this.window.cross) ? this.window.low : this.window.cross;
    const actions = {
      ArrowRight: () => event.shiftKey ? this.window.pan(0.2) : this.window.setCross(Math.min(this.window.high, cross + step)),
      ArrowLeft: () => event.shiftKey ? this.window.pan(-0.2) : this.window.setCross(Math.max(this.window.low, cross - step)),
      '+': () => this.window.zoom(0.5, cross), '=': () => this.window.zoom(0.5, cross), '-': () => this.window.zoom(2, cross),
      0: () => this.window.showAll(), Escape: () => this.window.zoomed && this.window.showAll(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /// For saving: the chart as it is, as SVG text.
  svgText(width = 900, height = 320) {
    const palette = colours();
    const pen = new SvgPen(width, height + 24, palette.ground, this.title);
    pen.text(margin.left, height + 16, this.shown().map((one) => one.name).join(', ').slice(0, 120), { colour: palette.faint });
    this.paint(pen, width, height, palette);
    return pen.text_of();
  }

  axisName() {
    return { time: 'seconds', step: 'step', epoch: 'epoch', share: 'share of the run' }[this.axis()];
  }

  /// The numbers that are shown: a head and rows.
  table() {
    const rows = [];
    for (const one of this.shown()) {
      const along = one.along(this.axis(), this.clocks());
      for (let i = 0; i < one.count; i += 1)
        if (along[i] >= this.window.low && along[i] <= this.window.high) rows.push([one.name, along[i], one.step[i], one.mean[i], one.low[i], one.high[i]]);
    }
    return { head: ['line', this.axisName(), 'step', `mean${this.unit ? ` (${this.unit === 'share' ? '1' : this.unit})` : ''}`, 'lowest', 'highest'], rows };
  }
}

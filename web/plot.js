// What all drawn charts but the lines have in common: a canvas that follows its width and theme, a readout, SVG and table.

import { h, perFrame } from './dom.js';
import { CanvasPen, SvgPen } from './pen.js';
import { colours, onTheme } from './theme.js';

export class Plot {
  constructor({ title, height = 260, signal, label }) {
    Object.assign(this, { title, height, signal });
    this.canvas = h('canvas', { class: 'plot still', role: 'img', 'aria-label': label ?? `${title}. "Show as a table" has the numbers.` });
    this.readout = h('p', { class: 'readout note', 'aria-live': 'off', text: ' ' });
    this.root = h('div', { class: 'plot-box' }, this.canvas, this.readout);
    this.draw = perFrame(() => this.drawNow());
    const sizes = new ResizeObserver(([entry]) => { this.width = entry.contentRect.width; this.draw(); });
    sizes.observe(this.root);
    signal?.addEventListener('abort', () => sizes.disconnect());
    onTheme(this.draw, signal);
    this.canvas.addEventListener('pointermove', (event) => this.point(event.offsetX, event.offsetY));
    this.canvas.addEventListener('pointerleave', () => this.point(NaN, NaN));
  }

  drawNow() {
    if (!this.width || !this.canvas.isConnected) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    const context = this.canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paint(new CanvasPen(context), this.width, this.height, colours());
  }

  svgText(width = 900) {
    const palette = colours();
    const pen = new SvgPen(width, this.height, palette.ground, this.title);
    this.paint(pen, width, this.height, palette);
    return pen.text_of();
  }

  point() {}

  say(text) {
    if (this.readout.textContent !== text) this.readout.textContent = text || ' ';
  }
}

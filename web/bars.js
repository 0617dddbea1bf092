// Bars with intervals: names at the left, values at the right.

import { short } from './format.js';
import { Plot } from './plot.js';

export class BarPlot extends Plot {
  constructor({ rows, format, ...options }) {
    super({ ...options, height: rows.length * 22 + 8 });
    Object.assign(this, { rows, format });
  }

  paint(pen, width, height, palette) {
    const names = Math.min(width * 0.38, 260);
    const values = 90;
    const most = Math.max(...this.rows.map(({ value, high }) => Math.max(value, high ?? 0))) || 1;
    const scale = (value) => Math.max(0, value / most * (width - names - values - 16));
    this.rows.forEach((row, i) => {
      const y = 4 + i * 22;
      pen.text(names - 8, y + 14, short(row.name, Math.max(6, Math.floor(names / 6.4))), { colour: palette.ink, anchor: 'right', size: 12 });
      pen.rectangle(names, y + 3, Math.max(1, scale(row.value)), 14, { colour: palette.accent, alpha: 0.8 });
      if (row.low !== undefined && row.high !== undefined) pen.line([names + scale(row.low), names + scale(row.high)], [y + 10, y + 10], { colour: palette.ink, width: 1.5, alpha: 0.6 });
      pen.text(names + scale(Math.max(row.value, row.high ?? 0)) + 6, y + 14, this.format(row.value), { colour: palette.faint, size: 12 });
    });
  }

  table() {
    const interval = this.rows.some(({ low }) => low !== undefined);
    return { head: ['', 'value', ...(interval ? ['low', 'high'] : [])], rows: this.rows.map(({ name, value, low, high }) => [name, value, ...(interval ? [low, high] : [])]) };
  }
}

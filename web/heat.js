// What each of a pair keeps of its speed beside the other: rows keep, columns are beside whom.

import { share, short } from './format.js';
import { Plot } from './plot.js';

export class HeatMap extends Plot {
  constructor({ names, speeds, ...options }) {
    super({ ...options, height: names.length * 44 + 90, label: `Speeds of ${names.length} jobs beside each other. "Show as a table" has the numbers.` });
    Object.assign(this, { names, speeds });
  }

  side(width) {
    const left = Math.min(200, width * 0.34);
    return { left, size: Math.min(120, (width - left - 8) / this.names.length) };
  }

  paint(pen, width, height, palette) {
    const { left, size } = this.side(width);
    const dark = palette.ground.startsWith('#1');
    this.names.forEach((name, row) => {
      pen.text(left - 8, 30 + row * 44 + 26, short(name, Math.floor(left / 6.6)), { colour: palette.ink, anchor: 'right', size: 12 });
      this.names.forEach((_, column) => {
        const speed = this.speeds[row]?.[column];
        const x = left + column * size;
        const known = typeof speed === 'number';
        pen.rectangle(x + 1, 31 + row * 44, size - 2, 42, { colour: known ? palette.accent : palette.rule, alpha: known ? Math.max(0.06, Math.min(0.92, speed)) : 0.4 });
        const light = known && speed > 0.72;
        pen.text(x + size / 2, 30 + row * 44 + 26, known ? share(speed) : '–', { colour: light ? (dark ? '#10151a' : '#fff') : palette.ink, anchor: 'middle', size: 12.5 });
      });
    });
    this.names.forEach((name, column) => pen.text(left + column * size + size / 2, 20, short(name, Math.max(3, Math.floor(size / 6.8))), { colour: palette.ink, anchor: 'middle', size: 12 }));
    pen.text(left, 30 + this.names.length * 44 + 22, 'rows: what this one keeps of its speed alone; columns: beside whom', { colour: palette.faint, size: 11 });
  }

  point(x, y) {
    const { left, size } = this.side(this.width ?? 0);
    const [row, column] = [Math.floor((y - 30) / 44), Math.floor((x - left) / size)];
    const speed = this.speeds[row]?.[column];
    this.say(this.names[column] && typeof speed === 'number' ? `${this.names[row]} beside ${this.names[column]} keeps ${share(speed)} of its speed` : '');
  }

  table() {
    return { head: ['', ...this.names.map((name) => `beside ${name}`)], rows: this.names.map((name, row) => [name, ...this.names.map((_, column) => this.speeds[row]?.[column])]) };
  }
}

// Runs by groups of one value: how many, and what their metrics are on average. Of the first thousand that match.

import { own } from './api.js';
import { h } from './dom.js';
import { number, quantity, short, unknown } from './format.js';
import { columnOf, fixedColumns, hardware } from './runs_columns.js';
import { rowOf } from './runs_source.js';
import { numeric } from './series.js';
import { unitOf } from './units.js';

const most = 1000;

export class GroupedSource {
  constructor({ question, group, columns, arrived, failed }) {
    Object.assign(this, { question, group, columns, arrived, failed, total: 0, counted: true, rows: [], runs: [], closed: new Set() });
    this.stop = new AbortController();
  }

  row(i) { return this.rows[i]; }
  loaded() { return this.runs; }
  want() {}
  close() { this.stop.abort(); }

  async load() {
    try {
      const answer = await own('runs', { ...this.question, offset: 0, limit: most }, this.stop.signal);
      this.runs = answer.runs.map((run) => rowOf(run, answer.columns));
      this.note = answer.next === null ? undefined : `groups of the first ${most} runs`;
      this.fill();
      this.arrived(0);
    } catch (error) {
      if (error.name !== 'AbortError') this.failed(error, 0);
    }
  }

  fill() {
    const groups = new Map();
    for (const run of this.runs) {
      const value = fixedColumns.has(this.group) ? run[this.group] : run.values[this.group];
      const name = value === null || value === undefined || value === '' ? unknown : String(value);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(run);
    }
    this.rows = [];
    for (const [name, runs] of groups) {
      this.rows.push({ group: name, runs: runs.length, open: !this.closed.has(name), means: this.means(runs) });
      if (!this.closed.has(name)) this.rows.push(...runs);
    }
    this.total = this.rows.length;
    this.note = `${this.runs.length}${this.runs.length === most ? '+' : ''} runs in ${groups.size} groups`;
  }

  means(runs) {
    return this.columns.filter((id) => /^(metrics|hardware)\./.test(id)).slice(0, 5).map((id) => {
      const values = runs.map((run) => numeric(run.values[id])).filter(Number.isFinite);
      const key = id.replace(/^\w+\./, '');
      const unit = id.startsWith('hardware.') ? hardware[key]?.[1] : unitOf(key);
      return values.length > 0 && { label: columnOf(id).label, text: quantity(values.reduce((a, b) => a + b, 0) / values.length, unit) };
    }).filter(Boolean);
  }

  toggle(name) {
    if (!this.closed.delete(name)) this.closed.add(name);
    this.fill();
  }
}

export function groupHead({ group, runs, open, means }, toggle) {
  return h('div', { role: 'gridcell', class: 'td group-head' },
    h('button', { type: 'button', class: 'quiet', tabindex: -1, 'aria-expanded': String(open), onclick: toggle }, h('span', { 'aria-hidden': 'true', text: open ? '▾ ' : '▸ ' }), h('bdi', { text: short(group, 80) })),
    h('span', { class: 'count', text: `${number(runs)} ${runs === 1 ? 'run' : 'runs'}` }), means.map(({ label, text }) => h('span', { class: 'mean' }, `mean ${short(label, 24)} `, h('b', { text }))));
}

// Runs as the table asks for them: pages by their place, each asked for once.

import { own } from './api.js';
import { pointsOf } from './live.js';

const page = 100;

export class RunsSource {
  constructor({ question, arrived, failed }) {
    Object.assign(this, { question, arrived, failed });
    this.pages = new Map();
    this.total = 0;
    this.counted = false;
    this.stop = new AbortController();
  }

  row(i) {
    return this.pages.get(Math.floor(i / page))?.[i % page];
  }

  /// Every row that is here.
  * loaded() {
    for (const rows of this.pages.values()) if (Array.isArray(rows)) yield* rows;
  }

  /// What is told of a run under way; its place where something of it that is here has changed, else -1.
  take(change) {
    for (const [number, rows] of this.pages) {
      const i = rows?.findIndex((row) => row.id === change.id) ?? -1;
      if (i < 0) continue;
      const row = rows[i];
      let any = false;
      const put = (values, key, value) => { if (key in values && values[key] !== value) { values[key] = value; any = true; } };
      for (const { key, value } of pointsOf(change)) put(row.values, `metrics.${key}`, value);
      for (const [name, value] of change.hardware ?? []) put(row.values, `hardware.${name}`, value);
      for (const key of ['status', 'end', 'name']) if (change[key] !== undefined) put(row, key, change[key]);
      return any ? number * page + i : -1;
    }
    return -1;
  }

  want(from, to) {
    for (let number = Math.floor(from / page); number * page < to; number += 1) if (!this.pages.has(number)) this.ask(number);
  }

  close() {
    this.stop.abort();
  }

  async ask(number, limit = page) {
    this.pages.set(number, undefined);
    try {
      const answer = await own('runs', { ...this.question, offset: number * page, limit }, this.stop.signal);
      const rows = answer.runs.map((run) => rowOf(run, answer.columns));
      this.pages.set(number, rows);
      const known = number * page + rows.length;
      // Until all are counted, there is at least one page more where the server says so.
      if (!this.counted) this.total = Math.max(this.total, known + (answer.next === null ? 0 : page));
      if (answer.next === null && rows.length > 0) { this.total = known; this.counted = true; }
      this.arrived(number);
    } catch (error) {
      if (error.name === 'AbortError') return;
      this.pages.delete(number);
      this.failed(error, number);
    }
  }

  /// How many there are, which may take longer than the first page of them.
  async count() {
    try {
      const { total } = await own('runs', { ...this.question, column: [], limit: 1, total: 1 }, this.stop.signal);
      if (total === null || total === undefined) return;
      this.total = total;
      this.counted = true;
      this.arrived(-1);
    } catch { /* the page itself says what is wrong */ }
  }
}

export function rowOf(run, columns) {
  const values = {};
  columns.forEach((column, i) => { values[column] = run.cells[i]; });
  return { ...run, values };
}

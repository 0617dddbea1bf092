// A table of any length: only the rows in sight are elements. Its scroll bar is that of all rows, and what is not there
// yet is asked for as soon as it is looked at.

import { h, perFrame } from './dom.js';

const rowHeight = 32;
const tallest = 15e6;  // pixels that every browser can scroll

export class Table {
  /// columns: [{id, label, title, width (pixels), number, sort, cell(row)}]; source: {total, row(i), want(from, to)}.
  constructor({ label, source, columns, signal, marked, onMark, onOpen, onSort, sort, isHead, headCell }) {
    Object.assign(this, { source, marked, onMark, onOpen, onSort, sort, isHead, headCell });
    this.head = h('div', { class: 'thead', role: 'rowgroup' });
    this.space = h('div', { class: 'space', role: 'rowgroup' });
    this.root = h('div', { class: 'vtable', role: 'grid', 'aria-label': label, 'aria-multiselectable': 'true', tabindex: -1 }, this.head, this.space);
    this.rows = new Map();
    this.active = 0;
    this.refresh = perFrame(() => this.render());
    this.root.addEventListener('scroll', this.refresh, { passive: true });
    this.root.addEventListener('keydown', (event) => this.onKey(event));
    this.root.addEventListener('click', (event) => this.onClick(event));
    const sizes = new ResizeObserver(this.refresh);
    sizes.observe(this.root);
    signal?.addEventListener('abort', () => sizes.disconnect());
    this.setColumns(columns);
  }

  setColumns(columns) {
    this.columns = columns;
    this.clear();
    // One column takes what is left; all have a least width, so that head and rows agree whatever is in them.
    const template = ['36px', ...columns.map(({ id, width }) => id === 'name' ? `minmax(${width}px, 1fr)` : `${width}px`)];
    if (!columns.some(({ id }) => id === 'name')) template.push('1fr');
    this.root.style.setProperty('--columns', template.join(' '));
    this.root.style.setProperty('--width', `${columns.reduce((sum, { width }) => sum + width, 36)}px`);
    const all = h('input', { type: 'checkbox', 'aria-label': 'Mark all rows that are loaded', tabindex: -1, onchange: () => this.markAll(all.checked) });
    this.all = all;
    this.head.replaceChildren(h('div', { class: 'tr', role: 'row', 'aria-rowindex': 1 }, h('div', { class: 'th', role: 'columnheader' }, all), columns.map((column) => this.headOf(column))));
    this.refresh();
  }

  headOf(column) {
    const sorted = this.sort?.id === column.id ? (this.sort.down ? 'descending' : 'ascending') : column.sort ? 'none' : null;
    const label = h('span', { class: 'label', text: column.label });
    return h('div', { class: `th${column.number ? ' number' : ''}`, role: 'columnheader', 'aria-sort': sorted, title: column.title ?? column.label },
      column.sort ? h('button', { type: 'button', class: 'sort', onclick: () => this.onSort(column) }, label, h('span', { class: 'arrow', 'aria-hidden': 'true', text: sorted === 'descending' ? '▼' : sorted === 'ascending' ? '▲' : '' })) : label);
  }

  setSort(sort) {
    this.sort = sort;
    this.setColumns(this.columns);
  }

  clear() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
  }

  /// Others' rows are there now.
  changed({ top = false } = {}) {
    this.clear();
    if (top) { this.root.scrollTop = 0; this.active = 0; }
    this.refresh();
  }

  /// Some rows have other contents; what has the focus keeps it.
  changedRows(places) {
    for (const i of places) {
      const row = this.rows.get(i);
      if (!row) continue;
      const fresh = this.rowOf(i);
      fresh.style.transform = row.style.transform;
      const focused = row === document.activeElement;
      row.replaceWith(fresh);
      this.rows.set(i, fresh);
      if (focused) fresh.focus({ preventScroll: true });
    }
  }

  get total() { return this.source.total ?? 0; }

  render() {
    if (!this.root.isConnected) return;
    const total = this.total;
    const height = Math.min(total * rowHeight, tallest);
    if (this.height !== height) { this.height = height; this.space.style.height = `${height}px`; this.root.setAttribute('aria-rowcount', String(total + 1)); }
    const headHeight = this.head.offsetHeight;
    const view = this.root.clientHeight - headHeight;
    const room = Math.max(1, height - view);
    const longest = Math.max(0, total * rowHeight - view);
    // Where all rows are taller than a browser scrolls, the place is that share of them.
    const scroll = height < total * rowHeight ? Math.min(1, this.root.scrollTop / room) * longest : this.root.scrollTop;
    this.first = Math.floor(scroll / rowHeight);
    const from = Math.max(0, this.first - 6);
    const to = Math.min(total, Math.ceil((scroll + view) / rowHeight) + 6);
    const offset = this.root.scrollTop - scroll;
    for (const [i, row] of this.rows) if (i < from || i >= to || row.waits && this.source.row(i)) { row.remove(); this.rows.delete(i); }
    const fresh = [];
    for (let i = from; i < to; i += 1) {
      let row = this.rows.get(i);
      if (!row) {
        row = this.rowOf(i);
        this.rows.set(i, row);
        fresh.push(row);
      }
      row.style.transform = `translateY(${i * rowHeight + offset}px)`;
    }
    if (fresh.length > 0) this.space.append(...fresh);
    this.source.want(from, to);
  }

  rowOf(i) {
    const run = this.source.row(i);
    const properties = { class: 'tr', role: 'row', 'aria-rowindex': i + 2, tabindex: i === this.active ? 0 : -1, 'data-i': i };
    if (!run) {
      const row = h('div', { ...properties, class: 'tr waits', 'aria-busy': 'true' }, h('div', { role: 'gridcell', class: 'td', text: '…' }));
      row.waits = true;
      return row;
    }
    if (this.isHead?.(run)) return h('div', { ...properties, class: 'tr group' }, this.headCell(run));
    const on = this.marked.has(run.id);
    const box = h('input', { type: 'checkbox', tabindex: -1, 'aria-label': `Mark ${run.name || run.id}`.slice(0, 100) });
    box.checked = on;
    return h('div', { ...properties, 'aria-selected': String(on), class: `tr${on ? ' marked' : ''}` }, h('div', { class: 'td', role: 'gridcell' }, box),
      this.columns.map((column) => h('div', { class: `td${column.number ? ' number' : ''}`, role: 'gridcell' }, column.cell(run) ?? '')));
  }

  mark(i, on) {
    const run = this.source.row(i);
    if (!run || this.isHead?.(run)) return;
    if (on) this.marked.set(run.id, run);
    else this.marked.delete(run.id);
    const row = this.rows.get(i);
    if (row) {
      row.classList.toggle('marked', on);
      row.setAttribute('aria-selected', String(on));
      const box = row.querySelector('input[type=checkbox]');
      if (box) box.checked = on;
    }
  }

  markAll(on) {
    for (let i = 0; i < this.total; i += 1) if (this.source.row(i)) this.mark(i, on);
    this.onMark();
  }

  onClick(event) {
    const row = event.target.closest('.tr[data-i]');
    if (!row) return;
    const i = Number(row.dataset.i);
    if (event.target.matches('input[type=checkbox]')) {
      const on = event.target.checked;
      if (event.shiftKey && this.lastMarked !== undefined) {
        const [a, b] = [Math.min(i, this.lastMarked), Math.max(i, this.lastMarked)];
        for (let k = a; k <= b; k += 1) this.mark(k, on);
      } else this.mark(i, on);
      this.lastMarked = i;
      this.activate(i, false);
      this.onMark();
      return;
    }
    this.activate(i, !event.target.closest('a, button'));
  }

  activate(i, focus = true) {
    this.rows.get(this.active)?.setAttribute('tabindex', '-1');
    this.active = Math.max(0, Math.min(this.total - 1, i));
    const view = this.root.clientHeight - this.head.offsetHeight;
    if (focus && this.height >= this.total * rowHeight) {
      const top = this.active * rowHeight;
      if (top < this.root.scrollTop) this.root.scrollTop = top;
      else if (top + rowHeight > this.root.scrollTop + view) this.root.scrollTop = top + rowHeight - view;
      this.render();
    }
    const row = this.rows.get(this.active);
    row?.setAttribute('tabindex', '0');
    if (focus) row?.focus({ preventScroll: true });
  }

  onKey(event) {
    if (!event.target.closest('.tr[data-i]') || event.target.matches('input:not([type=checkbox])') || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((this.root.clientHeight - this.head.offsetHeight) / rowHeight) - 1);
    const to = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: this.total - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      if (event.shiftKey) { this.mark(this.active, true); this.mark(to, true); this.onMark(); }
      this.activate(to);
    } else if (event.key === ' ' || event.key === 'x') {
      event.preventDefault();
      const run = this.source.row(this.active);
      if (run && this.isHead?.(run)) this.rows.get(this.active)?.querySelector('button')?.click();
      else if (run) { this.mark(this.active, !this.marked.has(run.id)); this.onMark(); }
    } else if (event.key === 'Enter' && event.target.matches('.tr')) {
      const run = this.source.row(this.active);
      if (run && this.isHead?.(run)) this.rows.get(this.active)?.querySelector('button')?.click();
      else if (run) this.onOpen(run);
    }
  }
}

// Jobs on GPUs over time, as bars that can be moved to another GPU, by dragging or by Alt and the arrow keys.

import { announce, h } from './dom.js';
import { seconds, share, short } from './format.js';
import { SvgPen } from './pen.js';
import { ticks, timeTick, timeTicks } from './scale.js';
import { colours } from './theme.js';

export class Gantt {
  /// move(job name, lane): asked when somebody puts a job elsewhere.
  constructor({ title, move }) {
    Object.assign(this, { title, move });
    this.root = h('div', { class: 'gantt', role: 'group', 'aria-label': `${title}: jobs by GPU. Alt and up or down moves a job to another GPU.` });
    this.lanes = [];
  }

  /// lanes: [{name, bars: [{name, start, end, speed, alone, beside, colour}]}]
  set(lanes) {
    const focused = document.activeElement?.dataset?.job;
    this.lanes = lanes;
    const longest = Math.max(1e-9, ...lanes.flatMap(({ bars }) => bars.map(({ end }) => end)));
    const scale = (value) => `${value / longest * 100}%`;
    const axis = h('div', { class: 'gantt-axis' }, h('div', { class: 'gantt-name' }), h('div', { class: 'gantt-lane' }, timeTicks(0, longest, 6).map((value) => {
      const tick = h('span', { text: timeTick(value, longest) });
      tick.style.left = scale(value);
      return tick;
    })));
    this.root.replaceChildren(...lanes.map((lane, k) => {
      const rows = [];
      const bars = lane.bars.toSorted((a, b) => a.start - b.start || a.end - b.end).map((bar) => {
        let row = rows.findIndex((end) => end <= bar.start + 1e-9);
        if (row < 0) { row = rows.length; rows.push(0); }
        rows[row] = bar.end;
        const words = `${short(bar.name, 60)}: ${seconds(bar.start)} to ${seconds(bar.end)}, keeps ${share(bar.speed)} of its speed${bar.beside?.length ? `, beside ${bar.beside.join(', ')}` : ''}`;
        const element = h('button', { type: 'button', class: `bar b${bar.colour % 12}`, draggable: 'true', title: words, 'aria-label': `${words}. On ${lane.name}.`, 'data-job': bar.name,
          ondragstart: (event) => { event.dataTransfer.setData('text/plain', bar.name); event.dataTransfer.effectAllowed = 'move'; },
          onkeydown: (event) => {
            const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
            if (!event.altKey || !by) return;
            event.preventDefault();
            const to = k + by;
            if (to >= 0 && to < lanes.length) { announce(`${bar.name} to ${lanes[to].name}`); this.move(bar.name, to); }
          } }, h('span', { text: short(bar.name, 40) }), h('small', { text: share(bar.speed) }));
        element.style.left = scale(bar.start);
        element.style.width = scale(Math.max(bar.end - bar.start, longest * 0.005));
        element.style.top = `${row * 30 + 3}px`;
        return element;
      });
      const space = h('div', { class: 'gantt-lane', ondragover: (event) => { event.preventDefault(); space.classList.add('over'); }, ondragleave: () => space.classList.remove('over'), ondrop: (event) => {
        event.preventDefault();
        space.classList.remove('over');
        const name = event.dataTransfer.getData('text/plain');
        if (lanes.some(({ bars: all }) => all.some((bar) => bar.name === name))) this.move(name, k);
      } }, bars);
      space.style.height = `${Math.max(1, rows.length) * 30 + 6}px`;
      return h('div', { class: 'gantt-row' }, h('div', { class: 'gantt-name', text: lane.name }), space);
    }), axis);
    if (focused) [...this.root.querySelectorAll('[data-job]')].find((bar) => bar.dataset.job === focused)?.focus();
  }

  table() {
    return { head: ['GPU', 'job', 'start (s)', 'end (s)', 'keeps of its speed', 'alone (s)'], rows: this.lanes.flatMap((lane) => lane.bars.map((bar) => [lane.name, bar.name, bar.start, bar.end, bar.speed, bar.alone])) };
  }

  svgText(width = 900) {
    const palette = colours();
    const height = this.lanes.reduce((sum, { bars }) => sum + Math.max(1, bars.length) * 26 + 8, 30);
    const pen = new SvgPen(width, height, palette.ground, this.title);
    const longest = Math.max(1e-9, ...this.lanes.flatMap(({ bars }) => bars.map(({ end }) => end)));
    const x = (value) => 90 + value / longest * (width - 110);
    let y = 4;
    for (const lane of this.lanes) {
      pen.text(8, y + 18, lane.name, { colour: palette.ink });
      lane.bars.forEach((bar) => {
        pen.rectangle(x(bar.start), y + 2, x(bar.end) - x(bar.start), 22, { colour: palette.series[bar.colour % 12], alpha: 0.6 });
        pen.text(x(bar.start) + 5, y + 17, `${short(bar.name, 40)} ${share(bar.speed)}`, { colour: palette.ink });
        y += 26;
      });
      y += Math.max(8, lane.bars.length === 0 ? 34 : 8);
    }
    for (const value of ticks(0, longest, 6)) pen.text(x(value), height - 8, timeTick(value, longest), { colour: palette.faint, anchor: 'middle' });
    return pen.text_of();
  }
}

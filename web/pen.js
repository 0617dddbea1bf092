// Two pens of one hand: what a chart draws on a canvas, it draws into an SVG too.

import { svg } from './dom.js';

export class CanvasPen {
  constructor(context) {
    this.context = context;
  }

  /// `xs` and `ys` in pixels; NaN breaks the line.
  line(xs, ys, { colour, width = 1.5, dash, alpha = 1, step = false, count = xs.length }) {
    const c = this.context;
    c.save();
    c.globalAlpha = alpha;
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.lineJoin = 'round';
    if (dash) c.setLineDash(dash);
    c.beginPath();
    let open = false;
    for (let i = 0; i < count; i += 1) {
      if (Number.isNaN(ys[i])) { open = false; continue; }
      if (!open) c.moveTo(xs[i], ys[i]);
      else {
        if (step) c.lineTo(xs[i], ys[i - 1]);
        c.lineTo(xs[i], ys[i]);
      }
      open = true;
    }
    c.stroke();
    c.restore();
  }

  band(xs, lows, highs, { colour, alpha = 0.18, count = xs.length }) {
    const c = this.context;
    c.save();
    c.globalAlpha = alpha;
    c.fillStyle = colour;
    for (let from = 0; from < count;) {
      while (from < count && Number.isNaN(lows[from])) from += 1;
      let to = from;
      while (to < count && !Number.isNaN(lows[to])) to += 1;
      if (to > from) {
        c.beginPath();
        for (let i = from; i < to; i += 1) c.lineTo(xs[i], highs[i]);
        for (let i = to - 1; i >= from; i -= 1) c.lineTo(xs[i], lows[i]);
        c.closePath();
        c.fill();
      }
      from = to;
    }
    c.restore();
  }

  rectangle(x, y, width, height, { colour, alpha = 1 }) {
    const c = this.context;
    c.save();
    c.globalAlpha = alpha;
    c.fillStyle = colour;
    c.fillRect(x, y, width, height);
    c.restore();
  }

  dot(x, y, radius, { colour, alpha = 1, hollow = false }) {
    const c = this.context;
    c.save();
    c.globalAlpha = alpha;
    c.beginPath();
    c.arc(x, y, radius, 0, 2 * Math.PI);
    if (hollow) { c.strokeStyle = colour; c.lineWidth = 2; c.stroke(); } else { c.fillStyle = colour; c.fill(); }
    c.restore();
  }

  text(x, y, words, { colour, anchor = 'start', size = 11, turned = false }) {
    const c = this.context;
    c.save();
    c.fillStyle = colour;
    c.font = `${size}px system-ui, sans-serif`;
    c.textAlign = anchor === 'middle' ? 'center' : anchor;
    if (turned) { c.translate(x, y); c.rotate(-Math.PI / 2); c.fillText(words, 0, 0); } else c.fillText(words, x, y);
    c.restore();
  }

  within(x, y, width, height, draw) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    draw();
    this.context.restore();
  }
}

const r = (value) => Math.round(value * 100) / 100;

export class SvgPen {
  constructor(width, height, ground, title) {
    this.root = svg('svg', { xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' },
      svg('title', { text: title }), svg('rect', { width, height, fill: ground }));
    this.at = this.root;
    this.clips = 0;
  }

  line(xs, ys, { colour, width = 1.5, dash, alpha = 1, step = false, count = xs.length }) {
    let path = '';
    for (let i = 0, open = false; i < count; i += 1) {
      if (Number.isNaN(ys[i])) { open = false; continue; }
      path += !open ? `M${r(xs[i])} ${r(ys[i])}` : step ? `H${r(xs[i])}V${r(ys[i])}` : `L${r(xs[i])} ${r(ys[i])}`;
      open = true;
    }
    this.at.append(svg('path', { d: path, fill: 'none', stroke: colour, 'stroke-width': width, 'stroke-dasharray': dash?.join(' '), 'stroke-opacity': alpha === 1 ? null : alpha }));
  }

  band(xs, lows, highs, { colour, alpha = 0.18, count = xs.length }) {
    let path = '';
    for (let from = 0; from < count;) {
      while (from < count && Number.isNaN(lows[from])) from += 1;
      let to = from;
      while (to < count && !Number.isNaN(lows[to])) to += 1;
      const upper = [];
      const lower = [];
      for (let i = from; i < to; i += 1) {
        upper.push(`${r(xs[i])} ${r(highs[i])}`);
        lower.unshift(`${r(xs[i])} ${r(lows[i])}`);
      }
      if (to > from) path += `M${upper.concat(lower).join('L')}Z`;
      from = to;
    }
    this.at.append(svg('path', { d: path, fill: colour, 'fill-opacity': alpha }));
  }

  rectangle(x, y, width, height, { colour, alpha = 1 }) {
    this.at.append(svg('rect', { x: r(x), y: r(y), width: r(Math.max(0, width)), height: r(Math.max(0, height)), fill: colour, 'fill-opacity': alpha === 1 ? null : alpha }));
  }

  dot(x, y, radius, { colour, alpha = 1, hollow = false }) {
    this.at.append(svg('circle', { cx: r(x), cy: r(y), r: radius, ...(hollow ? { fill: 'none', stroke: colour, 'stroke-width': 2 } : { fill: colour, 'fill-opacity': alpha }) }));
  }

  text(x, y, words, { colour, anchor = 'start', size = 11, turned = false }) {
    this.at.append(svg('text', { x: r(x), y: r(y), fill: colour, 'text-anchor': anchor === 'right' ? 'end' : anchor === 'left' ? 'start' : anchor, 'font-size': size,
      'font-family': 'system-ui, sans-serif', transform: turned ? `rotate(-90 ${r(x)} ${r(y)})` : null, text: words }));
  }

  within(x, y, width, height, draw) {
    const id = `clip${this.clips += 1}`;
    this.root.append(svg('clipPath', { id }, svg('rect', { x, y, width, height })));
    const before = this.at;
    this.at = svg('g', { 'clip-path': `url(#${id})` });
    before.append(this.at);
    draw();
    this.at = before;
  }

  text_of() {
    return new XMLSerializer().serializeToString(this.root);
  }
}

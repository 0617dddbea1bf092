// From values to pixels, and where the ticks stand.

export function niceStep(span, most) {
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= rough) return factor * power;
  return 10 * power;
}

export function ticks(low, high, most = 5) {
  if (!(high > low) || !Number.isFinite(high - low)) return [low];
  const step = niceStep(high - low, most);
  const out = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i += 1) out.push(Number((i * step).toPrecision(12)));
  return out;
}

/// Bytes are counted by powers of 1024, and so are their ticks.
export function byteTicks(low, high, most = 5) {
  const base = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(1, high)) / Math.log(1024)));
  return ticks(low / base, high / base, most).map((value) => value * base);
}

const clock = [1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
  172800, 604800];

/// Ticks of seconds fall on minutes and hours.
export function timeTicks(low, high, most = 6) {
  const step = clock.find((one) => (high - low) / one <= most) ?? niceStep(high - low, most);
  const out = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i += 1) out.push(Number((i * step).toPrecision(12)));
  return out;
}

export function timeTick(value, span) {
  const pad = (n) => String(n).padStart(2, '0');
  if (span < 120) return `${Number(value.toPrecision(6))} s`;
  const whole = Math.round(value);
  const days = Math.floor(whole / 86400);
  const text = `${Math.floor(whole / 3600) % 24}:${pad(Math.floor(whole / 60) % 60)}`;
  if (span < 3600) return `${Math.floor(whole / 60)}:${pad(whole % 60)} min`;
  return days > 0 ? `${days} d ${text}` : `${text} h`;
}

export function logTicks(low, high) {
  const out = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p += 1) {
    const value = 10 ** p;
    if (value >= low * 0.999 && value <= high * 1.001) out.push(value);
  }
  return out.length > 1 ? out : ticks(low, high, 4).filter((value) => value > 0);
}

export class Scale {
  constructor(low, high, from, to, logarithmic = false) {
    this.logarithmic = logarithmic && low > 0;
    const of = this.logarithmic ? Math.log10 : (value) => value;
    this.low = of(low);
    this.high = of(high) === of(low) ? of(low) + 1 : of(high);
    this.from = from;
    this.factor = (to - from) / (this.high - this.low);
  }

  at(value) {
    return this.from + ((this.logarithmic ? Math.log10(value) : value) - this.low) * this.factor;
  }

  value(pixel) {
    const value = this.low + (pixel - this.from) / this.factor;
    return this.logarithmic ? 10 ** value : value;
  }
}

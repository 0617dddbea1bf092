// Histories as columns: what the server's outline says in spans. Pure; a span of one point is that point.

export class Series {
  constructor({ name, key = name, run = '', unit = '', colour = 0, spans = [], origin = 0, dash, steps = false }) {
    Object.assign(this, { name, key, run, unit, colour, origin, dash, steps });
    this.take(spans);
  }

  take(spans) {
    const n = spans.length;
    this.time = new Float64Array(n);
    this.step = new Float64Array(n);
    this.mean = new Float64Array(n);
    this.low = new Float64Array(n);
    this.high = new Float64Array(n);
    this.count = n;
    this.points = 0;
    this.joined = false;
    for (let i = 0; i < n; i += 1) {
      const span = spans[i];
      this.time[i] = ((span.first_timestamp + span.last_timestamp) / 2 - this.origin) / 1000;
      this.step[i] = (Number(span.first_step) + Number(span.last_step)) / 2;
      this.mean[i] = numeric(span.mean);
      this.low[i] = numeric(span.minimum);
      this.high[i] = numeric(span.maximum);
      this.points += Number(span.points);
      if (Number(span.points) > 1) this.joined = true;
    }
    this.smoothed = undefined;
    this.mapped = undefined;
    this.shared = undefined;
    this.stepless = this.step.every((step) => step === this.step[0]);
  }

  /// The abscissa by kind: seconds since the run's start, steps, or epochs. What has no steps of its own, as hardware, and
  /// every epoch, is found by a clock: {step, epoch} are histories that tell them by time.
  along(axis, clocks) {
    if (axis === 'time' || this.count === 0) return this.time;
    if (axis === 'share') return this.shares();
    if (axis === 'step' && !this.stepless) return this.step;
    const clock = clocks?.[axis];
    if (!clock || clock.count < 2) return axis === 'step' ? this.step : this.time;
    if (this.mapped?.clock !== clock || this.mapped.count !== clock.count) {
      const ys = axis === 'step' ? clock.step : clock.mean;
      this.mapped = { clock, count: clock.count, values: Float64Array.from(this.time, (time) => interpolate(clock.time, ys, time)) };
    }
    return this.mapped.values;
  }

  /// How far its run was at each point: by steps, or by time where there are none.
  shares() {
    if (this.shared?.length !== this.count) {
      const xs = this.stepless ? this.time : this.step;
      const from = this.stepless ? 0 : Math.min(0, xs[0]);
      const whole = xs[this.count - 1] - from || 1;
      this.shared = xs.map((x) => (x - from) / whole);
    }
    return this.shared;
  }

  /// Where a history lies along an axis.
  ends(axis, clocks) {
    const xs = this.along(axis, clocks);
    let low = Infinity;
    let high = -Infinity;
    for (let i = 0; i < this.count; i += 1) {
      if (xs[i] < low) low = xs[i];
      if (xs[i] > high) high = xs[i];
    }
    return [low, high];
  }

  /// Values with an exponential mean whose weight is corrected for the beginning and for uneven distances.
  values(smoothing) {
    if (!smoothing) return this.mean;
    if (this.smoothed?.weight === smoothing) return this.smoothed.values;
    const values = smooth(this.mean, smoothing);
    this.smoothed = { weight: smoothing, values };
    return values;
  }
}

export function numeric(value) {
  if (typeof value === 'number') return value;
  if (value === 'Infinity') return Infinity;
  if (value === '-Infinity') return -Infinity;
  return value === null || value === undefined || value === 'NaN' ? NaN : Number(value);
}

export function smooth(values, weight) {
  const out = new Float64Array(values.length);
  let sum = 0;
  let norm = 0;
  for (let i = 0; i < values.length; i += 1) {
    if (!Number.isFinite(values[i])) {
      out[i] = values[i];
      continue;
    }
    sum = weight * sum + (1 - weight) * values[i];
    norm = weight * norm + (1 - weight);
    out[i] = sum / norm;
  }
  return out;
}

export function interpolate(xs, ys, x) {
  const i = firstAtLeast(xs, x);
  if (i === 0) return ys[0];
  if (i >= xs.length) return ys[xs.length - 1];
  const part = xs[i] === xs[i - 1] ? 0 : (x - xs[i - 1]) / (xs[i] - xs[i - 1]);
  return ys[i - 1] + part * (ys[i] - ys[i - 1]);
}

/// The first place with a value of `x` or more, by halving.
export function firstAtLeast(xs, x, count = xs.length) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function nearest(xs, x, count = xs.length) {
  const i = firstAtLeast(xs, x, count);
  if (i === 0) return 0;
  if (i >= count) return count - 1;
  return x - xs[i - 1] <= xs[i] - x ? i - 1 : i;
}

/// Least and greatest of what lies between two abscissas, infinities left out.
export function extent(series, xs, low, high, { positive = false, bands = true } = {}) {
  let least = Infinity;
  let greatest = -Infinity;
  const from = Math.max(0, firstAtLeast(xs, low, series.count) - 1);
  const to = Math.min(series.count, firstAtLeast(xs, high, series.count) + 1);
  const lows = bands ? series.low : series.mean;
  const highs = bands ? series.high : series.mean;
  for (let i = from; i < to; i += 1) {
    const a = lows[i];
    const b = highs[i];
    if (Number.isFinite(a) && a < least && (!positive || a > 0)) least = a;
    if (Number.isFinite(b) && b > greatest) greatest = b;
  }
  return [least, greatest];
}

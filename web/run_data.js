// One run as the page knows it: what MLflow's API tells of it, and its histories, each asked for once and when it is looked at.

import { mlflowGet, own } from './api.js';
import { Series } from './series.js';
import { isHardware, titleOf, unitOf } from './units.js';

const most = 2000;

export async function loadRun(id, signal) {
  const { run } = await mlflowGet('runs/get', { run_id: id }, signal);
  return new RunData(run);
}

const byKey = (items) => new Map((items ?? []).map(({ key, value }) => [key, value]));

export class RunData {
  constructor({ info, data }) {
    this.info = info;
    this.id = info.run_id;
    this.name = info.run_name || info.run_id.slice(0, 8);
    this.start = Number(info.start_time);
    this.end = Number(info.end_time) || 0;
    this.metrics = new Map((data.metrics ?? []).map((metric) => [metric.key, metric]));
    this.params = byKey(data.params);
    this.tags = byKey(data.tags);
    this.histories = new Map();
  }

  get running() { return this.info.status === 'RUNNING'; }
  get seconds() { return ((this.end || Date.now()) - this.start) / 1000; }
  tag(name) { return this.tags.get(`plimsoll.${name}`); }

  command() {
    const text = this.tag('command');
    try {
      const words = JSON.parse(text);
      return Array.isArray(words) ? words.join(' ') : text;
    } catch {
      return text;
    }
  }

  ownKeys() {
    return [...this.metrics.keys()].filter((key) => !isHardware(key) && !key.startsWith('summary/'));
  }

  /// Hardware by what is measured: one chart has all places where it is.
  hardwareKinds() {
    const kinds = new Map();
    for (const key of this.metrics.keys()) {
      if (!isHardware(key)) continue;
      const name = key.slice(key.lastIndexOf('/') + 1);
      const kind = { memory_used: 'memory', memory_resident: 'memory', cgroup_memory: 'memory', memory_clock: 'clock', sm_clock: 'clock', cgroup_cpu: 'cpu', cgroup_throttled: 'cpu' }[name] ?? name;
      const place = /\/gpu\//.test(key) ? 'gpu' : 'host';
      const id = `${place}/${kind}`;
      if (!kinds.has(id)) kinds.set(id, []);
      kinds.get(id).push(key);
    }
    return [...kinds].map(([id, keys]) => ({ id, keys: keys.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })) })).sort((a, b) => rank(a.id) - rank(b.id) || a.id.localeCompare(b.id));
  }

  /// The history of a metric, or of a part of its time, in spans.
  async outline(key, { from, to, signal } = {}) {
    const answer = await own('outline', { run_id: this.id, metric_key: key, max_results: most, from: from === undefined ? undefined : Math.floor(this.start + from * 1000), to: to === undefined ? undefined : Math.ceil(this.start + to * 1000) }, signal);
    return answer;
  }

  history(key, signal) {
    if (!this.histories.has(key)) {
      const series = new Series({ name: titleOf(key), key, run: this.id, unit: unitOf(key), origin: this.start, steps: key === 'epoch' || /\/(processes|threads)$/.test(key) });
      series.loaded = this.outline(key, { signal }).then((answer) => {
        series.spans = answer.spans;
        series.unit = unitOf(key, answer.unit ?? '');
        series.take(answer.spans);
        return series;
      });
      series.loaded.catch(() => this.histories.delete(key));
      this.histories.set(key, series);
    }
    return this.histories.get(key);
  }

  /// What came since: a point at the end of its history.
  append(key, value, step, time) {
    this.metrics.set(key, { key, value, step, timestamp: time });
    const series = this.histories.get(key);
    if (!series?.spans) return;
    if (series.spans.at(-1)?.last_timestamp >= time) return;
    series.spans.push({ first_timestamp: time, last_timestamp: time, first_step: step, last_step: step, minimum: value, maximum: value, mean: value, points: 1 });
    series.take(series.spans);
  }
}

const order = ['gpu/sm_activity', 'gpu/utilization', 'gpu/memory', 'gpu/power', 'gpu/energy', 'host/cpu', 'host/memory', 'gpu/temperature', 'gpu/clock', 'gpu/dram_activity', 'gpu/tensor_activity'];
const rank = (id) => { const at = order.indexOf(id); return at < 0 ? 99 : at; };

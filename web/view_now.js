// What the machine and its GPUs do at this moment, who is on them, what waits, and what needs somebody.

import { own, ownPost } from './api.js';
import { confirmed } from './dialog.js';
import { announce, emptyState, h, notice, svg } from './dom.js';
import { ago, bytes, joules, number, quantity, seconds, share, short, unknown, watts, when } from './format.js';
import { keyed, setText } from './keyed.js';
import { follow, pointsOf } from './live.js';
import { address } from './router.js';
import { numeric } from './series.js';
import { mayWrite, session } from './session.js';
import { unitOf } from './units.js';

const every = 2000;

function meter(label) {
  const bar = h('div', { class: 'meter', role: 'meter', 'aria-label': label, 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': 0 }, h('i', {}));
  const text = h('span', { class: 'value' });
  return { root: h('div', { class: 'measure' }, h('span', { class: 'name', text: label }), bar, text), set(part, words) {
    setText(text, words);
    const percent = part === null || part === undefined ? 0 : Math.round(Math.max(0, Math.min(1, part)) * 100);
    bar.setAttribute('aria-valuenow', String(percent));
    bar.setAttribute('aria-valuetext', words);
    bar.firstChild.style.width = `${percent}%`;
  } };
}

function scaledTo1(values) {
  const known = values.filter(Number.isFinite);
  const low = Math.min(...known);
  const high = Math.max(...known);
  return known.map((value) => high > low ? (value - low) / (high - low) : 0.5);
}

function sparkline(label) {
  const line = svg('polyline', { fill: 'none', class: 'spark-line' });
  const root = svg('svg', { class: 'spark', viewBox: '0 0 120 28', preserveAspectRatio: 'none', role: 'img', 'aria-label': label }, line);
  return { root, set(values) {
    const known = values.slice(-60);
    line.setAttribute('points', known.map((value, i) => `${Math.round(i * 1200 / Math.max(1, known.length - 1)) / 10},${Math.round((27 - 26 * Math.min(1, value ?? 0)) * 10) / 10}`).join(' '));
  } };
}

export async function open(area, { signal, title }) {
  title('Now');
  const alarms = h('ul', { class: 'alarms', 'aria-label': 'Alarms' });
  const machine = h('section', { 'aria-label': 'Machine' });
  const gpus = h('div', { class: 'gpus' });
  const noGpu = h('p', { class: 'note', hidden: true });
  const body = h('tbody');
  const runsTable = h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'A table that may be scrolled' }, h('table', { class: 'plain now-runs' }, h('thead', {}, h('tr', {}, [['Run'], ['Progress'], ['Newest metric', 1], ['Its course'], ['Running', 1], ['Expected end', 1], ['SM activity', 1], ['GPU memory', 1], ['Energy', 1], ['']].map(([text, right]) => h('th', { scope: 'col', class: right ? 'number' : null }, text || h('span', { class: 'hidden', text: 'What can be done' }))))), body));
  const noRuns = h('div', { hidden: true });
  const waiting = h('div', {});
  const state = h('span', { class: 'count', text: '' });
  const pause = h('button', { type: 'button', text: 'Pause', 'aria-pressed': 'false', onclick: () => { paused = !paused; pause.setAttribute('aria-pressed', String(paused)); pause.textContent = paused ? 'Go on' : 'Pause'; if (!paused) look(); } });
  let paused = false;
  let newest = { runs: [], gpus: [] };
  const live = new Map();
  const history = new Map();
  const hostMeters = { cpu: meter('Processors'), memory: meter('Memory') };
  const hostName = h('b', {});
  const hostMore = h('span', { class: 'note' });
  machine.append(h('div', { class: 'machine' }, hostName, hostMeters.cpu.root, hostMeters.memory.root, hostMore));
  area.append(h('div', { class: 'toolbar' }, h('h1', { text: 'Now' }), pause, state), alarms, machine, gpus, noGpu,
    h('section', { 'aria-labelledby': 'under-way' }, h('h2', { id: 'under-way', text: 'Under way' }), runsTable, noRuns), h('section', { 'aria-labelledby': 'waits' }, h('h2', { id: 'waits', text: 'Waiting' }), waiting));

  async function stopRun(run) {
    if (!await confirmed('Stop the run', `${short(run.name, 80)} is asked to end; its command gets the time to save.`, 'Stop')) return;
    try {
      await ownPost('stop', { run_id: run.id });
      notice(`${short(run.name, 60)} was asked to stop.`);
      look();
    } catch (error) { notice(error.message, { kind: 'error' }); }
  }

  async function free(gpu) {
    const on = newest.runs.filter((run) => (run.gpus ?? []).includes(gpu.gpu));
    if (on.length === 0) { notice('No run of Plimsoll’s is on this GPU; what is there was started by itself. Its process is named on the card.'); return; }
    if (!await confirmed(`Free GPU ${gpu.gpu}`, `${on.length === 1 ? 'One run is' : `${on.length} runs are`} asked to end: ${on.map((run) => short(run.name, 40)).join(', ')}.`, 'Stop them')) return;
    for (const run of on) {
      try { await ownPost('stop', { run_id: run.id }); } catch (error) { notice(`${short(run.name, 40)}: ${error.message}`, { kind: 'error' }); }
    }
    look();
  }

  function makeGpu() {
    const name = h('b', {});
    const facts = h('span', { class: 'note' });
    const meters = { sm: meter('SM activity'), utilization: meter('Utilisation'), memory: meter('Memory'), power: meter('Power') };
    const spark = sparkline('SM activity of the last minutes');
    const on = h('ul', { class: 'on' });
    const freeButton = h('button', { type: 'button', text: 'Free this GPU…', hidden: !mayWrite() });
    const root = h('article', { class: 'gpu' }, h('header', {}, name, facts), spark.root, ...Object.values(meters).map((one) => one.root), on, freeButton);
    const entry = { root, name, facts, meters, spark, on, gpu: null };
    freeButton.addEventListener('click', () => free(entry.gpu));
    return entry;
  }

  function updateGpu(entry, gpu) {
    entry.gpu = gpu;
    setText(entry.name, `GPU ${gpu.gpu} ${gpu.name ?? ''}`);
    const low = gpu.clocks_low_because ?? [];
    setText(entry.facts, [gpu.temperature_celsius !== null && gpu.temperature_celsius !== undefined && `${number(gpu.temperature_celsius)} °C`, gpu.sm_clock_hertz && quantity(gpu.sm_clock_hertz, 'Hz'), low.length > 0 && `slowed: ${low.join(', ')}`].filter(Boolean).join(' · '));
    entry.meters.sm.set(gpu.sm_activity, share(gpu.sm_activity));
    entry.meters.utilization.set(gpu.utilization, share(gpu.utilization));
    entry.meters.memory.set(gpu.memory_used_bytes / gpu.memory_total_bytes, `${bytes(gpu.memory_used_bytes)} of ${bytes(gpu.memory_total_bytes)}`);
    entry.meters.power.set(gpu.power_watts / gpu.power_limit_watts, `${watts(gpu.power_watts)} of ${watts(gpu.power_limit_watts)}`);
    const past = history.get(gpu.gpu) ?? [];
    entry.spark.set(gpu.history?.length ? gpu.history.map((one) => typeof one === 'number' ? one : one?.sm_activity ?? one?.utilization ?? 0) : past);
    // Its runs, then the processes that are on it, whoever started them.
    const lines = [...newest.runs.filter((run) => (run.gpus ?? []).includes(gpu.gpu)).map((run) => ({ key: run.id, run, bytes: run.gpu_memory_bytes, more: run.sm_activity === null || run.sm_activity === undefined ? '' : `, ${share(run.sm_activity)} SM activity` })),
      ...(gpu.processes ?? []).map((process) => ({ key: `process ${process.pid}`, text: `${process.pid} ${short(process.command ?? '', 60)}`, bytes: process.memory_bytes, more: process.time_share === null || process.time_share === undefined ? '' : `, ${share(process.time_share)} of the time` }))];
    keyed(entry.on, lines, ({ key }) => key, ({ run, text }) => {
      const part = h('i', { class: 'part' });
      const much = h('small', {});
      return { root: h('li', { class: run ? 'run' : null }, part, run ? h('a', { href: address(['runs', run.id]), text: short(run.name, 50) }) : h('span', { class: 'faint', text }), much), much, part };
    }, (line, one) => {
      line.part.style.width = `${Math.round(100 * (one.bytes ?? 0) / (gpu.memory_total_bytes || 1))}%`;
      setText(line.much, ` ${bytes(one.bytes)}${one.more}`);
    });
  }

  function makeRun(run) {
    const cells = Array.from({ length: 8 }, (_, i) => h('td', { class: i > 0 && i !== 2 ? 'number' : null }));
    const course = sparkline(`Course of the newest metric of ${short(run.name, 60)}`);
    cells[2].append(course.root);
    const bar = h('progress', { max: 1, 'aria-label': `Progress of ${short(run.name, 60)}` });
    const progress = h('span', { class: 'note' });
    cells[0].append(bar, progress);
    const entry = { bar, progress, cells, run, course };
    entry.root = h('tr', {}, h('th', { scope: 'row' }, h('a', { href: address(['runs', run.id]) }, h('bdi', { text: short((run.name ?? '').trim() || run.id.slice(0, 8), 80) }))), cells, h('td', {}, mayWrite() && h('button', { type: 'button', class: 'quiet danger', text: 'Stop', 'aria-label': `Stop ${short(run.name, 60)}`, onclick: () => stopRun(entry.run) })));
    return entry;
  }

  function updateRun(entry, run) {
    entry.run = run;
    const told = live.get(run.id);
    // What came since the last look, of the metric whose course is drawn.
    const later = run.metric && told?.get(run.metric.key);
    const metric = later && Number(later.step) >= Number(run.metric.step) ? later : run.metric;
    entry.bar.hidden = run.progress === null || run.progress === undefined;
    if (!entry.bar.hidden && entry.bar.value !== run.progress) entry.bar.value = run.progress;
    setText(entry.progress, [entry.bar.hidden ? null : share(run.progress), run.epoch !== null && run.epoch !== undefined && `epoch ${number(run.epoch)}`, run.step !== null && run.step !== undefined && `step ${number(run.step)}`].filter(Boolean).join(', ') || (metric ? `step ${number(Number(metric.step))}` : unknown));
    const texts = [metric ? `${short(metric.key, 28)} ${quantity(numeric(metric.value), unitOf(metric.key))}` : unknown, seconds(run.elapsed_seconds), run.expected_end_microseconds ? when(run.expected_end_microseconds / 1000) : unknown, share(run.sm_activity), bytes(run.gpu_memory_bytes), joules(run.energy_joules)];
    texts.forEach((text, i) => setText(entry.cells[i > 0 ? i + 2 : 1], text));
    entry.cells[4].title = run.progress_source ? `at its pace so far, by ${run.progress_source}` : '';
    entry.course.set(scaledTo1(run.history ?? []));
  }

  function drawRuns() {
    const runs = newest.runs;
    runsTable.hidden = runs.length === 0;
    noRuns.hidden = runs.length > 0;
    if (runs.length === 0 && !noRuns.firstChild) noRuns.append(h('p', { class: 'note', text: 'Nothing runs. Start something:' }), h('pre', { text: 'plimsoll run -- python train.py' }));
    keyed(body, runs, ({ id }) => id, makeRun, updateRun);
  }

  // The queue's jobs are asked for apart, and less often: there may be thousands.
  let queueAsked = -Infinity;
  async function drawQueue(queue) {
    if (!queue) {
      const text = session.queue_reason ? `Nothing waits: ${session.queue_reason}. \`plimsoll queue start\` begins a queue.` : 'Nothing waits here.';
      if (waiting.textContent !== text) waiting.replaceChildren(h('p', { class: 'note', text }));
      return;
    }
    if (performance.now() - queueAsked < 5000) return;
    queueAsked = performance.now();
    try {
      const told = await own('queue', {}, signal);
      const jobs = (told.jobs ?? []).filter(({ state: kind }) => kind !== 'ended' && kind !== 'running');
      if (jobs.length === 0) { waiting.replaceChildren(h('p', { class: 'note', text: 'Nothing waits.' })); return; }
      const act = (job, what, label) => h('button', { type: 'button', class: 'quiet', text: label, 'aria-label': `${label} job ${job.number}`, onclick: async () => {
        try { await ownPost(`queue/${what}`, { jobs: [job.number] }); queueAsked = -Infinity; drawQueue(queue); } catch (error) { notice(error.message, { kind: 'error' }); }
      } });
      waiting.replaceChildren(h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Jobs that wait' }, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['Job', 'By', 'Since', 'State', 'Why', 'Starts in', ''].map((text) => h('th', { scope: 'col' }, text || h('span', { class: 'hidden', text: 'What can be done' }))))),
        h('tbody', {}, jobs.slice(0, 200).map((job) => h('tr', {}, h('th', { scope: 'row', text: `${job.number} ${short(job.name ?? '', 60)}` }), h('td', { text: short(job.user ?? '', 40) }), h('td', { text: ago(job.submitted * 1000) }), h('td', { text: job.state }), h('td', { text: short(job.waits_because ?? '', 300) }), h('td', { text: seconds(job.starts_in_seconds) }),
          h('td', {}, mayWrite() && [job.state === 'held' ? act(job, 'release', 'Release') : act(job, 'hold', 'Hold'), act(job, 'cancel', 'Cancel')])))))));
    } catch (error) {
      if (error.name !== 'AbortError') waiting.replaceChildren(h('p', { class: 'note', text: error.message }));
    }
  }

  function drawAlarms(list) {
    keyed(alarms, list, (one) => `${one.kind} ${one.gpu} ${one.run}`, (one) => {
      const text = h('span', {});
      announce(`Alarm: ${one.text}`);
      return { root: h('li', { class: one.severity === 'critical' ? 'critical' : 'warning' }, h('b', { 'aria-hidden': 'true', text: '⚠ ' }), text, one.run && h('a', { href: address(['runs', one.run]), text: 'Look' })), text };
    }, (entry, one) => setText(entry.text, `${one.text} `));
  }

  let failed = false;
  async function look() {
    if (paused || document.hidden) return;
    try {
      newest = { runs: [], gpus: [], ...await own('now', {}, signal) };
      failed = false;
    } catch (error) {
      if (error.name === 'AbortError') return;
      setText(state, error.message);
      failed = true;
      return;
    }
    const host = newest.host ?? {};
    setText(hostName, host.name ?? 'This machine');
    hostMeters.cpu.set(host.cpu_cores / host.cores, `${number(host.cpu_cores, 3)} of ${number(host.cores)} cores`);
    hostMeters.memory.set(host.memory_used_bytes / host.memory_total_bytes, `${bytes(host.memory_used_bytes)} of ${bytes(host.memory_total_bytes)}`);
    setText(hostMore, host.io_pressure > 0.02 ? `something waited for storage ${share(host.io_pressure)} of the time` : '');
    for (const gpu of newest.gpus) history.set(gpu.gpu, [...(history.get(gpu.gpu) ?? []), gpu.sm_activity ?? gpu.utilization ?? 0].slice(-60));
    noGpu.hidden = newest.gpus.length > 0;
    setText(noGpu, `No GPU is seen on this machine${newest.no_gpu ? `: ${newest.no_gpu}` : '.'}`);
    drawAlarms(newest.alarms ?? []);
    drawRuns();
    keyed(gpus, newest.gpus, ({ gpu }) => gpu, makeGpu, updateGpu);
    drawQueue(newest.queue);
  }

  // Between two looks the runs' newest metrics come by themselves.
  function take({ runs }) {
    for (const run of runs ?? []) {
      const points = pointsOf(run);
      if (points.length === 0) continue;
      if (!live.has(run.id)) live.set(run.id, new Map());
      for (const point of points) live.get(run.id).set(point.key, point);
      const entry = body.known?.get(run.id);
      if (entry && !paused) updateRun(entry, entry.run);
    }
  }
  follow({ delta: 1 }, { snapshot: take, change: take }, signal, (how) => { if (!failed) setText(state, how === 'live' ? 'live' : 'the server is away; asked again'); });
  const timer = setInterval(look, every);
  signal.addEventListener('abort', () => clearInterval(timer));
  await look();
  if (failed && !newest.host) area.replaceChildren(emptyState('What runs now could not be read', state.textContent));
  return {};
}

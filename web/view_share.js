// What jobs do to each other on a GPU: pairs, a plan, what comes of putting a job elsewhere, and giving it to the queue.

import { own, ownPost } from './api.js';
import { endsOf } from './arrange.js';
import { openDialog } from './dialog.js';
import { announce, h, notice } from './dom.js';
import { figureOf } from './figure.js';
import { bytes, joules, number, seconds, share, short, unknown } from './format.js';
import { Gantt } from './gantt.js';
import { HeatMap } from './heat.js';
import { keep, setting } from './settings.js';
import { mayWrite, session } from './session.js';

const first = [{ name: 'a', model: 'resnet50', mode: 'train', batch: 32, steps: 3000 }, { name: 'b', model: 'vgg16', mode: 'train', batch: 32, steps: 1000 }, { name: 'c', model: 'mobilenet_v2', mode: 'train', batch: 64, steps: 4000 }];

export async function open(area, { signal, title }) {
  title('Share');
  const state = { jobs: setting('share.jobs', first), device: setting('share.device', 'h200'), gpus: setting('share.gpus', 2), sharing: 'mps' };
  const [zoo, devices] = await Promise.all([own('zoo', {}, signal), own('devices', {}, signal)]);
  const body = h('tbody');
  const place = h('div', { class: 'answers', 'aria-live': 'polite' });
  const save = () => { keep('share.jobs', state.jobs); keep('share.device', state.device); keep('share.gpus', state.gpus); };

  function field(job, name, { type = 'text', list, label, width }) {
    return h('td', {}, h('input', { type, list, value: String(job[name] ?? ''), 'aria-label': `${label} of ${job.name}`, class: width, min: type === 'number' ? 1 : null, onchange: (event) => { job[name] = type === 'number' ? Number(event.target.value) || undefined : event.target.value.trim(); save(); } }));
  }

  function fill() {
    body.replaceChildren(...state.jobs.map((job) => h('tr', {}, field(job, 'name', { label: 'Name', width: 'narrow' }), field(job, 'model', { label: 'Network', list: 'share-zoo' }),
      h('td', {}, h('select', { 'aria-label': `Mode of ${job.name}`, onchange: (event) => { job.mode = event.target.value; save(); } }, ['train', 'infer'].map((mode) => h('option', { value: mode, text: mode === 'train' ? 'training' : 'inference', selected: job.mode === mode })))),
      field(job, 'batch', { type: 'number', label: 'Batch', width: 'narrow' }), field(job, 'seq', { type: 'number', label: 'Sequence', width: 'narrow' }), field(job, 'steps', { type: 'number', label: 'Steps', width: 'narrow' }), field(job, 'command', { label: 'Command' }),
      h('td', {}, h('button', { type: 'button', class: 'quiet icon', 'aria-label': `Remove ${job.name}`, text: '×', onclick: () => { state.jobs = state.jobs.filter((one) => one !== job); save(); fill(); } })))));
  }

  function add() {
    let n = state.jobs.length;
    while (state.jobs.some(({ name }) => name === nameAt(n))) n += 1;
    state.jobs.push({ name: nameAt(n), model: 'resnet50', mode: 'train', batch: 32, steps: 1000 });
    save();
    fill();
    body.lastElementChild.querySelectorAll('input')[1].focus();
  }

  const workload = ({ name, model, mode, batch, seq }) => ({ name, model, mode, ...(batch ? { batch } : {}), ...(seq ? { seq } : {}) });
  const busy = async (button, call) => {
    button.disabled = true;
    place.setAttribute('aria-busy', 'true');
    try { await call(); } catch (error) { if (error.name !== 'AbortError') place.replaceChildren(h('p', { class: 'bad', role: 'alert', text: error.message })); } finally { button.disabled = false; place.setAttribute('aria-busy', 'false'); }
  };

  async function pairs() {
    place.replaceChildren(h('p', { class: 'note', text: 'Reckoning…' }));
    const told = await ownPost('share/matrix', { workloads: state.jobs.map(workload), device: state.device, sharing: state.sharing }, signal);
    const names = state.jobs.map(({ name }) => name);
    const map = new HeatMap({ title: `Pairs on ${told.device}, ${told.sharing}`, names: names.length === told.workloads.length ? names : told.workloads, speeds: told.speeds, signal });
    place.replaceChildren(figureOf(map, { title: map.title }), h('p', { class: 'note', text: `Best partners: ${told.workloads.map((_, i) => `${names[i]} with ${nameOfKind(told, told.best_partners[i])}`).join(', ')}.` }));
    announce('The pairs are there');
    function nameOfKind(answer, kind) { const i = answer.workloads.indexOf(kind); return i < 0 ? String(kind ?? unknown) : names[i] ?? kind; }
  }

  async function together() {
    place.replaceChildren(h('p', { class: 'note', text: 'Reckoning…' }));
    const told = await ownPost('share/beside', { workloads: state.jobs.map(workload), device: state.device }, signal);
    const causes = { waits: 'waiting for SMs', bandwidth: 'memory bandwidth', slices: 'turns', fewer_sms: 'fewer SMs', mps: 'MPS', host: 'the host', power: 'power' };
    const why = (row) => Object.entries(row.causes ?? {}).filter(([, value]) => value > 0.02).sort((a, b) => b[1] - a[1]).slice(0, 2).map(([name, value]) => `${causes[name] ?? name} +${share(value)}`).join(', ');
    place.replaceChildren(h('h2', { text: `All on one ${told.device}` }), h('p', {}, h('b', { text: told.memory.fits === false ? '✗ They do not fit together. ' : `Best by ${told.sharing}: together they do ${number(told.combined, 3)} times what one does. ` }), `Memory ${bytes(told.memory.minimum_device_bytes)}, power ${told.watts ? `${number(Math.round(told.watts))} W` : unknown}, energy ${told.energy_ratio ? `${number(told.energy_ratio, 3)} of one after the other` : unknown}. `, told.why ?? ''),
      h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'A table that may be scrolled' }, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['Job', 'Keeps of its speed', 'Step alone', 'Step then', 'Why'].map((text, i) => h('th', { scope: 'col', class: i > 0 && i < 4 ? 'number' : null, text })))), h('tbody', {}, told.workloads.map((row) => h('tr', {}, h('th', { scope: 'row', text: short(row.name, 60) }), h('td', { class: 'number', text: `${share(row.speed)} (${share(row.low)} to ${share(row.high)})` }), h('td', { class: 'number', text: seconds(row.alone_seconds) }), h('td', { class: 'number', text: seconds(row.seconds) }), h('td', { text: why(row) })))))),
      (told.others ?? []).length > 0 && h('details', {}, h('summary', { text: 'Other ways' }), h('table', { class: 'plain' }, h('tbody', {}, told.others.slice(0, 12).map((other) => h('tr', {}, h('th', { scope: 'row', text: other.sharing }), h('td', { text: `together ${number(other.combined, 3)}, slowest ${share(other.slowest)}` }))))))  || '');
    announce('It is there');
  }

  async function plan() {
    place.replaceChildren(h('p', { class: 'note', text: 'Planning; this may take half a minute…' }));
    const told = await ownPost('share/plan', { jobs: state.jobs.map((job) => ({ ...workload(job), steps: job.steps || 1000 })), devices: `${state.device}:${state.gpus}`, for: 'makespan' }, signal);
    const colour = new Map(state.jobs.map(({ name }, i) => [name, i]));
    const gpuOf = (job) => { const found = told.places.find(({ name }) => name === job.places[0]); return found ? found.gpu : 0; };
    const count = Math.max(state.gpus, ...told.places.map(({ gpu }) => gpu + 1));
    const onGpu = new Map(told.jobs.map((job) => [job.name, gpuOf(job)]));
    const alone = new Map(told.jobs.map((job) => [job.name, job.alone_seconds]));
    const groups = new Map();
    const speeds = (names) => {
      const key = names.join('\n');
      if (!groups.has(key)) {
        const asked = ownPost('share/beside', { workloads: names.map((name) => workload(state.jobs.find((job) => job.name === name))), device: state.device, sharing: 'mps' }, signal).then((answer) => {
          if (answer.memory?.fits === false) throw new Error(`${names.join(', ')} do not fit on one GPU together: ${bytes(answer.memory.minimum_device_bytes)}.`);
          return answer.workloads.map(({ speed }) => speed);
        });
        asked.catch(() => groups.delete(key));
        groups.set(key, asked);
      }
      return groups.get(key);
    };
    const summary = h('p', {});
    const verdict = h('p', { class: 'note', role: 'status' });
    const gantt = new Gantt({ title: 'Plan', move });
    const planned = { end: told.makespan_seconds, moved: false };
    const lane = (k) => `GPU ${k}`;
    gantt.set(Array.from({ length: count }, (_, k) => ({ name: lane(k), bars: told.jobs.filter((job) => gpuOf(job) === k).map((job) => ({ name: job.name, start: job.start_seconds, end: job.end_seconds, speed: job.mean_speed, alone: job.alone_seconds, beside: job.beside, colour: colour.get(job.name) ?? 0 })) })));
    summary.append(h('b', { text: `All done after ${seconds(told.makespan_seconds)}` }), `, with ${joules(told.joules)}${told.money ? ` and ${number(told.money, 3)} ${told.currency}` : ''}; one after the other on these GPUs ${seconds(told.alternatives?.find(({ layout }) => layout === 'exclusive')?.makespan_seconds)}. Layout: ${told.layouts.join(', ')}${told.optimal ? '; proven the best of its layouts' : ''}.`);

    async function move(name, to) {
      if (onGpu.get(name) === to) return;
      const before = onGpu.get(name);
      onGpu.set(name, to);
      verdict.textContent = 'Reckoning…';
      try {
        const lanes = await Promise.all(Array.from({ length: count }, async (_, k) => {
          const here = [...onGpu].filter(([, gpu]) => gpu === k).map(([job]) => job);
          const ends = await endsOf(here.map((job) => ({ name: job, seconds: alone.get(job) })), speeds);
          return { name: lane(k), bars: ends.map((one) => ({ ...one, speed: one.alone / Math.max(1e-9, one.end - one.start), beside: here.filter((job) => job !== one.name), colour: colour.get(one.name) ?? 0 })) };
        }));
        gantt.set(lanes);
        const end = Math.max(...lanes.flatMap(({ bars }) => bars.map((bar) => bar.end)), 0);
        const change = end - planned.end;
        verdict.textContent = `With ${name} on ${lane(to)}, all begun at once under MPS: done after ${seconds(end)}, ${Math.abs(change) < 0.005 * planned.end ? 'as planned' : change > 0 ? `${seconds(change)} later than planned` : `${seconds(-change)} sooner than planned`}.`;
      } catch (error) {
        onGpu.set(name, before);
        verdict.textContent = error.message;
      }
    }

    const submit = h('button', { type: 'button', class: 'primary', text: 'Submit to the queue…', disabled: !session.queue || !mayWrite(), title: session.queue ? '' : session.queue_reason || 'No queue answers here.', onclick: () => submitJobs() });
    place.replaceChildren(summary, figureOf(gantt, { title: 'Plan', hint: 'drag a job to another GPU, or Alt and ↑ ↓' }), verdict, h('div', { class: 'toolbar' }, h('button', { type: 'button', text: 'As planned', onclick: () => plan() }), submit, !session.queue && h('span', { class: 'note', text: session.queue_reason || 'No queue answers here: `plimsoll queue start` begins one.' })),
      told.unplaced?.length > 0 && h('p', { class: 'bad', text: `Not placed: ${told.unplaced.map((one) => one.name ?? one).join(', ')}` }) || '');
    announce('The plan is there');
  }

  function words(command) {
    return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3]);
  }

  async function submitJobs() {
    const lacking = state.jobs.filter((job) => !job.command);
    if (lacking.length > 0) { notice(`Say the command of ${lacking.map(({ name }) => name).join(', ')} in the table above.`, { kind: 'error' }); return; }
    const jobs = state.jobs.map((job) => ({ ...workload(job), steps: job.steps || 1000, command: words(job.command) }));
    try {
      const tried = await ownPost('queue/submit', { jobs, dry_run: true }, signal);
      openDialog('Submit to the queue', h('div', {}, h('p', { text: `${jobs.length} jobs are given to the queue as they stand in the table.` }), h('pre', { text: short(JSON.stringify(tried, null, 1), 4000) })), { actions: [{ label: 'Cancel' }, { label: 'Submit', primary: true, run: async () => {
        try { await ownPost('queue/submit', { jobs, dry_run: false }); notice('They wait in the queue; “Now” shows them.'); } catch (error) { notice(error.message, { kind: 'error' }); return false; }
        return true;
      } }] });
    } catch (error) { notice(error.message, { kind: 'error' }); }
  }

  const button = (text, call, kind) => { const one = h('button', { type: 'button', class: kind, text, onclick: () => busy(one, call) }); return one; };
  fill();
  area.append(h('h1', { text: 'Share' }), h('p', { class: 'note', text: 'Jobs that are to share GPUs: what each keeps of its speed beside the others, before it happens.' }), h('datalist', { id: 'share-zoo' }, zoo.map(({ name, title: words_ }) => h('option', { value: name, text: words_ }))),
    h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'A table that may be scrolled' }, h('table', { class: 'plain jobs' }, h('thead', {}, h('tr', {}, ['Name', 'Network', 'Mode', 'Batch', 'Sequence', 'Steps', 'Command (to submit)', ''].map((text) => h('th', { scope: 'col' }, text || h('span', { class: 'hidden', text: 'Remove' }))))), body)),
    h('div', { class: 'toolbar' }, h('button', { type: 'button', text: '+ Job', onclick: add }), h('label', {}, 'GPU ', h('select', { 'aria-label': 'GPU', onchange: (event) => { state.device = event.target.value; save(); } }, devices.filter(({ kind }) => kind === 'gpu').map(({ id, name }) => h('option', { value: id, text: name, selected: id === state.device })))),
      h('label', {}, 'How many ', h('input', { type: 'number', min: 1, max: 64, value: String(state.gpus), class: 'narrow', 'aria-label': 'How many GPUs', onchange: (event) => { state.gpus = Math.max(1, Number(event.target.value) || 1); save(); } })), button('All on one GPU', together), button('Pairs', pairs), button('Plan', plan, 'primary')), place);
  return {};
}

const nameAt = (n) => (n < 26 ? String.fromCharCode(97 + n) : `job${n}`);

// One run.

import { mlflowPost, own, ownPost } from './api.js';
import { confirmed } from './dialog.js';
import { copyText, emptyState, h, notice, whenQuiet } from './dom.js';
import { joules, moment, seconds, share, short, when } from './format.js';
import { addKeys } from './keyboard.js';
import { follow, pointsOf } from './live.js';
import { address, go } from './router.js';
import { runCharts } from './run_charts.js';
import { loadRun } from './run_data.js';
import { remove, restore } from './runs_actions.js';
import { averages, costs, epochs, findingsOf, predictions, verdictCard } from './run_verdict.js';
import { mayWrite } from './session.js';
import { statusOf } from './status.js';

const parts = [['charts', 'Charts'], ['verdict', 'Verdict'], ['logs', 'Logs'], ['artifacts', 'Files'], ['details', 'Parameters and tags']];

export async function open(area, { run: id, part, signal, title }) {
  const run = await loadRun(id, signal);
  title(run.name);
  let report = null;
  const asked = own('report', { run_id: run.id }, signal).then(({ runs }) => { report = runs[0]; return report; });
  asked.catch(() => {});

  const status = h('span', {}, statusOf(run.info.status));
  const facts = h('dl', { class: 'facts' });
  const strip = h('p', { class: 'strip', text: 'It is being judged…' });
  const place = h('div', { class: 'part' });
  const tabs = h('nav', { class: 'tabs', 'aria-label': 'Parts of the run' });
  const deleted = () => run.info.lifecycle_stage === 'deleted';
  const reload = () => dispatchEvent(new HashChangeEvent('hashchange'));
  const again = async () => { Object.assign(run, { info: (await loadRun(id, signal)).info }); head(); };
  const actions = h('div', { class: 'actions' });
  area.append(h('header', { class: 'run-head' }, h('h1', {}, h('bdi', { text: short(run.name, 300) }), ' ', status), actions), facts, strip, tabs, place);

  function head() {
    status.replaceChildren(statusOf(run.info.status), deleted() ? h('span', { class: 'bad', text: ' deleted' }) : '');
    const energy = report?.gpus.reduce((sum, gpu) => sum + (gpu.run_joules ?? gpu.joules ?? 0), 0);
    const gpus = report?.gpus.filter((gpu) => gpu.sm_activity !== null).map((gpu) => gpu.sm_activity) ?? [];
    const rows = [['Experiment', h('a', { href: address(['runs'], { experiments: run.info.experiment_id }), text: report?.experiment ? short(report.experiment, 80) : run.info.experiment_id })], ['Started', h('time', { text: when(run.start), title: moment(run.start) })], [run.running ? 'Running for' : 'Took', seconds(run.seconds)],
      run.info.user_id && ['By', h('bdi', { text: short(run.info.user_id, 60) })], run.tag('host') && ['On', run.tag('host')], energy > 0 && ['Energy', joules(energy)], gpus.length > 0 && ['SM activity', share(gpus.reduce((a, b) => a + b, 0) / gpus.length)],
      run.command() && ['Command', h('code', { text: short(run.command(), 200) })], ['Id', h('button', { type: 'button', class: 'quiet copy', title: 'Copy the id', onclick: () => copyText(run.id) }, h('code', { text: run.id.slice(0, 12) }))]].filter(Boolean);
    facts.replaceChildren(...rows.map(([name, value]) => h('div', {}, h('dt', { text: name }), h('dd', {}, value))));
    actions.replaceChildren(...[h('button', { type: 'button', text: 'Compare', onclick: () => go(['compare'], { runs: run.id }) }),
      run.running && mayWrite() && h('button', { type: 'button', class: 'danger', text: 'Stop', onclick: stop }),
      mayWrite() && (deleted() ? h('button', { type: 'button', text: 'Restore', onclick: () => restore([{ id: run.id }], again) }) : !run.running && h('button', { type: 'button', class: 'danger', text: 'Delete', onclick: () => remove([{ id: run.id }], again) }))].filter(Boolean));
  }

  async function stop() {
    if (!await confirmed('Stop the run', `${short(run.name, 80)} is asked to end; its command gets the time to save.`, 'Stop')) return;
    try {
      await ownPost('stop', { run_id: run.id });
      notice('It was asked to stop.');
    } catch (error) { notice(error.message, { kind: 'error' }); }
  }

  const makers = {
    async charts() {
      const charts = runCharts(run, { signal });
      makers.live = charts;
      return charts.root;
    },
    async verdict() {
      const told = await asked;
      return h('div', {}, verdictCard(told), findingsOf(told), predictions(told, run), costs(told), epochs(told), averages(told));
    },
    async logs() { return (await import('./run_logs.js')).openLogs(run, { signal }); },
    async artifacts() { return (await import('./run_artifacts.js')).openArtifacts(run, { signal }); },
    async details() { return (await import('./run_details.js')).openDetails(run, { signal, reload: () => { made.delete('details'); loadRun(id, signal).then((fresh) => { run.tags = fresh.tags; show('details'); }); } }); },
  };
  const made = new Map();
  async function show(name) {
    const chosen = parts.some(([one]) => one === name) ? name : 'charts';
    tabs.replaceChildren(...parts.map(([one, label]) => h('a', { href: address(['experiments', run.info.experiment_id, 'runs', run.id, ...(one === 'charts' ? [] : [one])]), 'aria-current': one === chosen ? 'page' : null, text: label })));
    strip.hidden = chosen !== 'charts';
    if (!made.has(chosen)) made.set(chosen, makers[chosen]().catch((error) => { made.delete(chosen); if (error.name === 'AbortError') throw error; return emptyState('This could not be shown', error.message); }));
    const content = await made.get(chosen);
    if (!signal.aborted) place.replaceChildren(content);
  }

  head();
  await show(part);
  asked.then(() => {
    if (signal.aborted) return;
    head();
    const { verdict } = report;
    strip.replaceChildren(h('b', { text: (verdict.outcome ?? verdict).title }), ` ${(verdict.outcome ?? verdict).text} `, h('a', { href: address(['experiments', run.info.experiment_id, 'runs', run.id, 'verdict']), text: 'Why, and what to try' }));
  }, (error) => { if (error.name !== 'AbortError') strip.textContent = `No verdict: ${error.message}`; });

  addKeys(parts.map(([name, label], i) => [String(i + 1), label, () => go(['experiments', run.info.experiment_id, 'runs', run.id, ...(name === 'charts' ? [] : [name])])]), signal);
  if (run.running) {
    const draw = whenQuiet(200, () => { head(); makers.live?.refresh(); });
    const timer = setInterval(() => { if (run.running && !document.hidden) makers.live?.more().catch(() => {}); }, 10000);
    signal.addEventListener('abort', () => clearInterval(timer));
    follow({ delta: 1, run_id: run.id }, { snapshot: take, change: take }, signal);
    function take({ runs, gone }) {
      for (const change of runs ?? []) {
        if ((change.id ?? change.run_id) !== run.id) continue;
        for (const { key, value, step, time } of pointsOf(change)) run.append(key, value, step, time);
        if (change.status) run.info.status = change.status;
        if (change.end) run.end = change.end;
      }
      if ((gone ?? []).includes(run.id)) again().catch(() => {});
      draw();
    }
  }
  return { moved: (route) => { show(route.part); return true; } };
}

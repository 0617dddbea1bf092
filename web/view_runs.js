// The table of runs: search, columns, order, groups, marks, and what can be done with marked runs.

import { own } from './api.js';
import { columnsMenu, columnOf, fixedColumns, hardware } from './runs_columns.js';
import { emptyState, h, announce, whenQuiet } from './dom.js';
import { filterOf, missing, named } from './filter.js';
import { filterField } from './filter_field.js';
import { short } from './format.js';
import { GroupedSource, groupHead } from './runs_groups.js';
import { addKeys } from './keyboard.js';
import { follow } from './live.js';
import { openMenu } from './menu.js';
import { rewrite, go } from './router.js';
import { actionsOn } from './runs_actions.js';
import { RunsSource } from './runs_source.js';
import { keep, setting } from './settings.js';
import { Table } from './table.js';

const usual = ['status', 'name', 'start', 'duration', 'user'];

export async function open(area, { query, experiment, signal, title }) {
  title('Runs');
  const state = {
    text: query.get('filter') ?? '', view: query.get('view') ?? 'active', group: query.get('group') ?? '',
    experiments: (experiment ? [experiment] : (query.get('experiments') ?? '').split(',').filter(Boolean)),
    sort: readSort(query.get('order')), columns: (query.get('columns') ?? '').split('~').filter(Boolean),
  };
  const marked = new Map();
  let facets = { metrics: [], params: [], tags: [], users: [], experiments: [] };
  let source = null;

  const field = filterField({ value: state.text, signal, changed: (text, now) => { state.text = text; now ? search() : typed(); },
    facets: () => ({ ...facets, values: valuesOf }) });
  const experimentButton = h('button', { type: 'button', class: 'choice', 'aria-haspopup': 'menu', onclick: (event) => openMenu(event.currentTarget, experimentItems()) });
  const groupButton = h('button', { type: 'button', class: 'choice', 'aria-haspopup': 'menu', onclick: (event) => openMenu(event.currentTarget, groupItems()) });
  const viewButton = h('button', { type: 'button', class: 'choice', 'aria-haspopup': 'menu', onclick: (event) => openMenu(event.currentTarget,
    [['active', 'Runs'], ['deleted', 'Deleted runs'], ['all', 'Both']].map(([name, label]) => ({ label, checked: state.view === name, run: () => { state.view = name; search(); } }))) });
  const columnsButton = h('button', { type: 'button', class: 'choice', text: 'Columns', 'aria-haspopup': 'dialog', onclick: () => columnsMenu({ chosen: chosenColumns(), facets, done: (columns) => {
    state.columns = columns;
    keep('columns', columns);
    search();
  } }) });
  const countText = h('span', { class: 'count', 'aria-live': 'polite' });
  const bar = h('div', { class: 'toolbar marked-bar', role: 'toolbar', 'aria-label': 'With the marked runs', hidden: true });
  const nothing = h('div', { class: 'nothing', hidden: true });

  const chosenColumns = () => state.columns.length > 0 ? state.columns : setting('columns', null) ?? suggestedColumns();
  const suggestedColumns = () => [...usual, ...facets.metrics.filter((key) => !/^(system|summary)\/|^epoch$/.test(key)).slice(0, 4).map((key) => `metrics.${key}`),
    ...facets.params.slice(0, 3).map((key) => `params.${key}`), 'hardware.energy', 'hardware.sm_activity'];
  const asked = () => chosenColumns().filter((id) => !fixedColumns.has(id));

  const table = new Table({ label: 'Runs', source: { total: 0, row: () => undefined, want() {} }, columns: chosenColumns().map(columnOf), signal, marked, sort: state.sort,
    onMark: fillBar, onOpen: (run) => go(['experiments', run.experiment_id, 'runs', run.id]),
    onSort: ({ id, number }) => {
      state.sort = state.sort?.id === id ? (state.sort.down === Boolean(number) ? { id, down: !state.sort.down } : null) : { id, down: Boolean(number) };
      search();
    },
    isHead: (row) => row.group !== undefined, headCell: (row) => groupHead(row, () => { source.toggle(row.group); table.changed(); }) });

  area.append(h('h1', { class: 'hidden', text: 'Runs' }),
    h('div', { class: 'toolbar' }, experimentButton, field.root, viewButton, groupButton, columnsButton, countText), bar, table.root, nothing);

  const soon = whenQuiet(60, () => search());
  const tellMissing = whenQuiet(1200, (text) => field.say(text));
  let askedAt = -Infinity;
  /// A filter that is not whole yet is not asked for. The first key is answered at once, those that come quickly after it together.
  function typed() {
    tellMissing.cancel();
    const lacks = missing(state.text);
    if (lacks) {
      soon.cancel();
      tellMissing(lacks);
    } else if (performance.now() - askedAt > 200) search();
    else soon();
  }
  addKeys([['c', 'Compare the marked runs', compareMarked], ['k', 'Choose columns', () => columnsButton.click()], ['r', 'Ask again', () => search()]], signal);
  signal.addEventListener('abort', () => { soon.cancel(); tellMissing.cancel(); source?.close(); });

  // Values that a field has, of the newest runs: asked for when somebody is about to compare it.
  const knownValues = new Map();
  function valuesOf(fieldName) {
    const id = fieldName.replaceAll(/[`"]/g, '');
    if (!knownValues.has(id)) {
      knownValues.set(id, []);
      const isName = /run_name$/.test(id);
      own('runs', { experiment_id: state.experiments, limit: 200, column: isName ? [] : [id] }, signal).then(({ runs }) => {
        knownValues.set(id, [...new Set(runs.map((run) => (isName ? run.name : run.cells[0])).filter((value) => typeof value === 'string' && value !== ''))].slice(0, 50));
        field.refresh();
      }).catch(() => knownValues.delete(id));
    }
    return knownValues.get(id);
  }

  function experimentItems() {
    const items = [{ label: 'All experiments', checked: state.experiments.length === 0, run: () => chooseExperiments([]) }, '-'];
    for (const { id, name } of facets.experiments.slice(0, 200)) {
      const on = state.experiments.includes(String(id));
      items.push({ label: short(name, 60), checked: on, run: () => chooseExperiments(on ? state.experiments.filter((one) => one !== String(id)) : [...state.experiments, String(id)]) });
    }
    return items;
  }

  function chooseExperiments(ids) {
    state.experiments = ids;
    marked.clear();
    loadFacets();
    search();
  }

  function groupItems() {
    const by = (id, label) => ({ label, checked: state.group === id, run: () => { state.group = id; search(); } });
    return [by('', 'No groups'), '-', by('experiment', 'Experiment'), by('user', 'User'), by('status', 'Status'), ...facets.params.slice(0, 25).map((key) => by(`params.${key}`, short(key, 50))),
      ...facets.tags.filter((key) => !key.startsWith('mlflow.')).slice(0, 15).map((key) => by(`tags.${key}`, `tag ${short(key, 50)}`))];
  }

  function question() {
    const filter = filterOf(state.text);
    const order = state.sort ? [orderOf(state.sort)] : undefined;
    return { filter: filter || undefined, order_by: order, experiment_id: state.experiments, view: state.view === 'active' ? undefined : state.view, column: [...new Set([...asked(), ...(/\./.test(state.group) ? [state.group] : [])])] };
  }

  function search() {
    soon.cancel();
    tellMissing.cancel();
    askedAt = performance.now();
    writeAddress();
    labels();
    source?.close();
    const begun = performance.now();
    let first = true;
    const next = source = state.group ? new GroupedSource({ question: question(), group: state.group, columns: asked(), arrived, failed }) : new RunsSource({ question: question(), arrived, failed });
    if (state.group) next.load();
    else next.ask(0, 100);

    function arrived() {
      if (next !== source) return;
      if (first) {
        first = false;
        field.say('');
        table.source = next;
        table.sort = state.sort;
        table.setColumns(chosenColumns().map(columnOf));
        table.changed({ top: true });
        performance.measure('plimsoll search', { start: begun });
        table.root.hidden = next.total === 0;
        showNothing(next.total === 0);
        if (!next.counted) next.count?.();
      } else table.refresh();
      tellCount(next);
    }

    function failed(error) {
      if (next !== source) return;
      field.say(error.message);
      if (first && error.status !== 400) { table.root.hidden = true; nothing.hidden = false; nothing.replaceChildren(emptyState('The runs could not be read', error.message)); }
    }
  }

  function tellCount(next) {
    const text = next.note ?? (next.counted ? `${next.total.toLocaleString('en').replaceAll(',', ' ')} ${next.total === 1 ? 'run' : 'runs'}` : `${next.total}+ runs`);
    if (countText.textContent !== text) countText.textContent = text;
  }

  function showNothing(empty) {
    nothing.hidden = !empty;
    if (!empty) return;
    const searched = state.text.trim() !== '' || state.experiments.length > 0 || state.view !== 'active';
    nothing.replaceChildren(searched
      ? emptyState('No run matches', h('p', {}, h('button', { type: 'button', text: 'Show all runs', onclick: () => { state.text = field.input.value = ''; state.view = 'active'; chooseExperiments([]); } })))
      : emptyState('No runs yet', 'Start one under Plimsoll’s eyes, with any command:', h('pre', { text: 'plimsoll run -- python train.py' }), 'Or let a script that logs with MLflow log here:', h('pre', { text: `MLFLOW_TRACKING_URI=${location.origin} python train.py` })));
    announce('No run matches');
  }

  function labels() {
    const name = state.experiments.length === 0 ? 'All experiments' : state.experiments.length === 1 ? short(facets.experiments.find(({ id }) => String(id) === state.experiments[0])?.name ?? `Experiment ${state.experiments[0]}`, 28) : `${state.experiments.length} experiments`;
    experimentButton.textContent = `${name} ▾`;
    groupButton.textContent = `${state.group ? `By ${short(state.group.replace(/^(params|tags)\./, ''), 20)}` : 'Group'} ▾`;
    viewButton.textContent = `${{ active: 'Active', deleted: 'Deleted', all: 'Active and deleted' }[state.view]} ▾`;
    columnsButton.textContent = 'Columns';
  }

  function writeAddress() {
    rewrite(['runs'], { experiments: state.experiments.join(','), filter: state.text, order: state.sort ? `${state.sort.id} ${state.sort.down ? 'DESC' : 'ASC'}` : '', view: state.view === 'active' ? '' : state.view, group: state.group, columns: state.columns.join('~') });
  }

  function fillBar() {
    bar.hidden = marked.size === 0;
    if (marked.size === 0) return;
    bar.replaceChildren(h('span', { text: `${marked.size} marked` }), ...actionsOn({ runs: [...marked.values()], view: state.view, compare: compareMarked, done: () => { marked.clear(); fillBar(); search(); } }),
      h('button', { type: 'button', class: 'quiet', text: 'Clear', onclick: () => { marked.clear(); fillBar(); table.changed(); } }));
    announce(`${marked.size} marked`);
  }

  function compareMarked() {
    if (marked.size > 0) go(['compare'], { runs: [...marked.keys()].slice(0, 50).join(',') });
  }

  async function loadFacets() {
    try {
      const before = JSON.stringify(asked());
      facets = { ...facets, ...await own('facets', { experiment_id: state.experiments }, signal) };
      labels();
      if (JSON.stringify(asked()) !== before && source) search();
    } catch (error) {
      if (error.name !== 'AbortError') announce(error.message);
    }
  }

  // Runs under way: what is shown of them changes in place.
  follow({ delta: 1 }, { change: ({ runs }) => table.changedRows((runs ?? []).map((change) => source?.take?.(change) ?? -1).filter((place) => place >= 0)) }, signal);

  labels();
  search();
  loadFacets();
  return { moved: () => false };
}

function readSort(text) {
  const match = /^(.*) (ASC|DESC)$/.exec(text ?? '');
  return match ? { id: match[1], down: match[2] === 'DESC' } : null;
}

function orderOf({ id, down }) {
  const names = { name: 'attributes.run_name', status: 'attributes.status', start: 'attributes.start_time', user: 'attributes.user_id', duration: 'attributes.duration' };
  const direction = down ? 'DESC' : 'ASC';
  if (names[id]) return `${names[id]} ${direction}`;
  const dot = id.indexOf('.');
  if (id.startsWith('hardware.')) return `${named('metrics', hardware[id.slice(dot + 1)]?.[2] ?? '')} ${direction}`;
  return `${named(id.slice(0, dot), id.slice(dot + 1))} ${direction}`;
}

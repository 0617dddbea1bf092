// Registered models, their versions and aliases.

import { mlflowGet, mlflowPost, send } from './api.js';
import { openDialog } from './dialog.js';
import { emptyState, h, notice } from './dom.js';
import { moment, short, when } from './format.js';
import { address } from './router.js';
import { mayWrite } from './session.js';

export async function open(area, { model, version, signal, title }) {
  if (model === undefined) return list(area, signal, title);
  if (version === undefined) return one(area, model, signal, title);
  return oneVersion(area, model, version, signal, title);
}

const linkTo = (name, text = short(name, 100)) => h('a', { href: address(['models', name]) }, h('bdi', { text }));
const aliasesOf = (model, version) => (model.aliases ?? []).filter((one) => String(one.version) === String(version)).map(({ alias }) => h('span', { class: 'chip', text: `@${short(alias, 40)}` }));

async function list(area, signal, title) {
  title('Models');
  const body = h('tbody');
  const table = h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'A table that may be scrolled' }, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['Name', 'Newest version', 'Aliases', 'Changed', 'Description'].map((text) => h('th', { scope: 'col', text })))), body));
  const more = h('button', { type: 'button', text: 'More', hidden: true });
  const nothing = h('div');
  const finder = h('input', { type: 'search', placeholder: 'Search by name', 'aria-label': 'Search models by name', 'data-key': 'filter', oninput: () => ask(true) });
  let token = '';
  let turn = 0;
  async function ask(fresh) {
    const mine = turn += 1;
    if (fresh) token = '';
    const words = finder.value.replaceAll('\'', '').replace(/[%_\\]/g, '_');
    const answer = await mlflowGet('registered-models/search', { filter: words ? `name ILIKE '%${words}%'` : undefined, max_results: 100, page_token: token || undefined }, signal);
    if (mine !== turn) return;
    const models = answer.registered_models ?? [];
    if (fresh) body.replaceChildren();
    token = answer.next_page_token ?? '';
    more.hidden = token === '';
    body.append(...models.map((model) => {
      const newest = (model.latest_versions ?? []).map((one) => Number(one.version)).sort((a, b) => b - a)[0];
      return h('tr', {}, h('th', { scope: 'row' }, linkTo(model.name)), h('td', {}, newest ? h('a', { href: address(['models', model.name, 'versions', String(newest)]), text: `version ${newest}` }) : 'none'), h('td', {}, (model.aliases ?? []).map(({ alias, version: of }) => h('span', { class: 'chip', text: `@${short(alias, 40)} → ${of}` }))), h('td', { title: moment(Number(model.last_updated_timestamp)), text: when(Number(model.last_updated_timestamp)) }), h('td', {}, h('bdi', { text: short(model.description ?? '', 160) })));
    }));
    table.hidden = body.childElementCount === 0;
    nothing.replaceChildren(...(table.hidden ? [finder.value ? emptyState('No model has such a name') : emptyState('No models are registered', 'A training registers one with MLflow’s client:', h('pre', { text: 'mlflow.pytorch.log_model(model, name="model", registered_model_name="resnet")' }))] : []));
  }
  more.addEventListener('click', () => ask(false).catch((error) => notice(error.message, { kind: 'error' })));
  area.append(h('div', { class: 'toolbar' }, h('h1', { text: 'Models' }), finder), table, nothing, more);
  await ask(true);
  return {};
}

async function one(area, name, signal, title) {
  const [{ registered_model: model }, found] = await Promise.all([mlflowGet('registered-models/get', { name }, signal), mlflowGet('model-versions/search', { filter: `name = '${name.replaceAll('\'', '\\\'')}'`, max_results: 1000 }, signal)]);
  title(model.name);
  const versions = (found.model_versions ?? []).sort((a, b) => Number(b.version) - Number(a.version));
  area.append(h('p', {}, h('a', { href: address(['models']), text: 'Models' })), h('h1', {}, h('bdi', { text: short(model.name, 256) })), model.description && h('p', { class: 'described', text: short(model.description, 5000) }) || '', h('p', { class: 'note', text: `Registered ${moment(Number(model.creation_timestamp))}` }),
    versions.length === 0 ? emptyState('No versions') : h('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'A table that may be scrolled' }, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['Version', 'Aliases', 'Stage', 'Registered', 'By', 'From run', ''].map((text) => h('th', { scope: 'col' }, text || h('span', { class: 'hidden', text: 'What can be done' }))))), h('tbody', {}, versions.map((version) => h('tr', {},
      h('th', { scope: 'row' }, h('a', { href: address(['models', model.name, 'versions', String(version.version)]), text: `version ${version.version}` })), h('td', {}, aliasesOf(model, version.version)), h('td', { text: version.current_stage && version.current_stage !== 'None' ? version.current_stage : '' }), h('td', { text: when(Number(version.creation_timestamp)), title: moment(Number(version.creation_timestamp)) }), h('td', {}, h('bdi', { text: short(version.user_id ?? '', 60) })),
      h('td', {}, version.run_id && h('a', { href: address(['runs', version.run_id]), text: version.run_id.slice(0, 12) })), h('td', {}, mayWrite() && h('button', { type: 'button', class: 'quiet', text: 'Alias…', 'aria-label': `Set an alias of version ${version.version}`, onclick: () => setAlias(model, version) }))))))));
  return {};
}

function setAlias(model, version) {
  const input = h('input', { type: 'text', 'aria-label': 'Alias', placeholder: 'champion' });
  const again = () => dispatchEvent(new HashChangeEvent('hashchange'));
  const attempt = async (call) => { try { await call(); location.reload(); } catch (error) { notice(error.message, { kind: 'error' }); return false; } again(); return true; };
  openDialog(`Alias of version ${version.version}`, h('div', { class: 'form' }, h('label', {}, 'Alias: letters, digits, _ and -', input)), { actions: [{ label: 'Cancel' },
    { label: 'Remove it', danger: true, run: () => attempt(() => send('ajax-api/2.0/mlflow/registered-models/alias', { name: model.name, alias: input.value }, { method: 'DELETE' })) },
    { label: 'Set it', primary: true, run: () => attempt(() => mlflowPost('registered-models/alias', { name: model.name, alias: input.value, version: String(version.version) })) }] });
  input.focus();
}

async function oneVersion(area, name, number, signal, title) {
  const [{ model_version: version }, { registered_model: model }] = await Promise.all([mlflowGet('model-versions/get', { name, version: number }, signal), mlflowGet('registered-models/get', { name }, signal)]);
  title(`${version.name} ${version.version}`);
  const rows = [['Aliases', aliasesOf(model, version.version)], ['Stage', version.current_stage], ['State', version.status], ['Registered', moment(Number(version.creation_timestamp))], ['Changed', moment(Number(version.last_updated_timestamp))], ['By', version.user_id], ['From run', version.run_id && h('a', { href: address(['runs', version.run_id]), text: version.run_id })], ['Source', h('code', { text: short(version.source ?? '', 1000) })], ['Use it', h('code', { text: `models:/${short(version.name, 200)}/${version.version}` })]];
  area.append(h('p', {}, h('a', { href: address(['models']), text: 'Models' }), ' / ', linkTo(version.name)), h('h1', { text: `Version ${version.version}` }), version.description && h('p', { text: short(version.description, 5000) }) || '',
    h('dl', {}, rows.filter(([, value]) => value && value.length !== 0).map(([label, value]) => [h('dt', { text: label }), h('dd', {}, value)])),
    (version.tags ?? []).length > 0 && h('section', { 'aria-label': 'Tags' }, h('h2', { text: 'Tags' }), h('dl', {}, version.tags.map(({ key, value }) => [h('dt', {}, h('bdi', { text: short(key, 100) })), h('dd', {}, h('bdi', { text: short(value, 2000) }))]))) || '');
  return {};
}

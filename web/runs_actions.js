// What can be done with marked runs.

import { mlflowPost } from './api.js';
import { confirmed, openDialog } from './dialog.js';
import { h, notice } from './dom.js';
import { mayWrite } from './session.js';

async function eachOf(runs, call, done, words) {
  let failed;
  let count = 0;
  for (const run of runs) {
    try {
      await call(run);
      count += 1;
    } catch (error) {
      failed = error;
      break;
    }
  }
  if (failed) notice(`${count} of ${runs.length}: ${failed.message}`, { kind: 'error' });
  else words && notice(words(count));
  done();
  return !failed;
}

export const restore = (runs, done) => eachOf(runs, (run) => mlflowPost('runs/restore', { run_id: run.id }), done, (n) => `${n} restored.`);

export function remove(runs, done) {
  return eachOf(runs, (run) => mlflowPost('runs/delete', { run_id: run.id }), () => {
    done();
    notice(`${runs.length} ${runs.length === 1 ? 'run' : 'runs'} deleted.`, { label: 'Restore', action: () => restore(runs, done) });
  });
}

export function editTag(runs, done, key = '', value = '') {
  const name = h('input', { type: 'text', value: key, required: true, maxlength: 250, 'aria-label': 'Name of the tag' });
  const text = h('textarea', { rows: 3, 'aria-label': 'Value', value });
  openDialog(runs.length === 1 ? 'Tag' : `Tag of ${runs.length} runs`, h('div', { class: 'form' }, h('label', {}, 'Name', name), h('label', {}, 'Value', text)), {
    actions: [
      { label: 'Cancel' },
      { label: 'Remove the tag', danger: true, run: () => name.value !== '' && eachOf(runs, (run) => mlflowPost('runs/delete-tag', { run_id: run.id, key: name.value }), done) },
      { label: 'Set the tag', primary: true, run: () => name.value === '' ? false : eachOf(runs, (run) => mlflowPost('runs/set-tag', { run_id: run.id, key: name.value, value: text.value }), done) },
    ],
  });
  name.focus();
}

export function actionsOn({ runs, view, compare, done }) {
  const button = (text, run, kind) => h('button', { type: 'button', class: kind, text, onclick: run });
  const deleted = runs.filter((run) => run.deleted);
  const active = runs.filter((run) => !run.deleted);
  return [
    button(runs.length > 50 ? 'Compare (first 50)' : 'Compare', compare, 'primary'),
    mayWrite() && button('Tag…', () => editTag(runs, done)),
    mayWrite() && active.length > 0 && view !== 'deleted' && button('Delete', async () => {
      if (active.length < 20 || await confirmed('Delete runs', `${active.length} runs are put aside, and can be restored.`, 'Delete')) remove(active, done);
    }, 'danger'),
    mayWrite() && (deleted.length > 0 || view === 'deleted') && button('Restore', () => restore(view === 'deleted' ? runs : deleted, done)),
  ].filter(Boolean);
}

// Dialogs: the browser's own, with a title and a way out.

import { freshId, h } from './dom.js';

export function openDialog(title, content, { actions = [], wide = false } = {}) {
  const id = freshId('dialog');
  const dialog = h('dialog', { 'aria-labelledby': id, class: wide ? 'wide-dialog' : null });
  const close = () => dialog.close();
  dialog.append(h('header', {}, h('h2', { id, text: title }), h('button', { class: 'quiet icon', type: 'button', 'aria-label': 'Close', text: '×', onclick: close })),
    h('div', { class: 'content', tabindex: 0, role: 'region', 'aria-labelledby': id }, content),
    actions.length > 0 ? h('footer', {}, actions.map(({ label, run, primary, danger }) => h('button', {
      type: 'button', class: primary ? 'primary' : danger ? 'danger' : null, text: label, onclick: async () => { if (await run?.() !== false) close(); } }))) : '');
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

export function confirmed(title, text, label, { danger = true } = {}) {
  return new Promise((answer) => {
    let yes = false;
    const dialog = openDialog(title, h('p', { text }), { actions: [{ label: 'Cancel' }, { label, danger, primary: !danger, run: () => { yes = true; } }] });
    dialog.addEventListener('close', () => answer(yes));
  });
}

// The way in where the server asks for a token.

import { own, ownPost } from './api.js';
import { h } from './dom.js';
import { refreshHead } from './app.js';
import { session, takeSession } from './session.js';

export async function open(area, { title }) {
  title('Log in');
  const token = h('input', { type: 'password', autocomplete: 'current-password', required: true, 'aria-label': 'Token', autofocus: true });
  const problem = h('p', { class: 'bad', role: 'alert', hidden: true });
  const button = h('button', { class: 'primary', type: 'submit', text: 'Log in' });
  const form = h('form', { class: 'form', onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    problem.hidden = true;
    try {
      takeSession(await ownPost('login', { token: token.value }));
      refreshHead();
      const after = sessionStorage.getItem('plimsoll.after');
      location.hash = after && after !== '#/login' ? after : '#/runs';
    } catch (error) {
      problem.textContent = error.status === 401 ? 'This is not the token.' : error.message;
      problem.hidden = false;
      token.select();
    } finally {
      button.disabled = false;
    }
  } }, h('label', {}, 'Token of this server', token), problem, button);
  area.append(h('div', { class: 'login' }, h('h1', { text: 'Log in' }), h('p', { class: 'note', text: 'It is in the file that the server was started with (--token-file), or in its environment as PLIMSOLL_TOKEN. Who runs the server can tell it to you.' }), form));
  try {
    takeSession(await own('session'));
    if (!session.login) location.hash = '#/runs';
  } catch { /* the form says what is wrong */ }
  token.focus();
}

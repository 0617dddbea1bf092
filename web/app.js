// The page: its head, what the address leads to, and how one view gives way to the next.

import { onLoginWanted, own, setCsrf } from './api.js';
import { announce, emptyState, h, notice } from './dom.js';
import { listenToKeys } from './keyboard.js';
import { openMenu } from './menu.js';
import { address, go, parse, resolve } from './router.js';
import { session, takeSession } from './session.js';
import { applyTheme, setTheme, theme } from './theme.js';

const views = {
  runs: () => import('./view_runs.js'), run: () => import('./view_run.js'), compare: () => import('./view_compare.js'), now: () => import('./view_now.js'),
  network: () => import('./view_network.js'), share: () => import('./view_share.js'), models: () => import('./view_models.js'), login: () => import('./view_login.js'),
};
export const places = [['now', 'Now'], ['runs', 'Runs'], ['compare', 'Compare'], ['network', 'Network'], ['share', 'Share'], ['models', 'Models']];

let current = null;
let inside = null;

function head() {
  const links = places.map(([place, title]) => h('a', { href: address([place]), text: title, 'data-place': place }));
  const themeButton = h('button', { type: 'button', class: 'quiet', 'aria-haspopup': 'menu', 'aria-label': 'Appearance', title: 'Appearance', text: '◐', onclick: (event) => openMenu(event.currentTarget,
    [['system', 'As the system'], ['light', 'Light'], ['dark', 'Dark']].map(([name, label]) => ({ label, checked: theme() === name, run: () => setTheme(name) }))) });
  document.getElementById('top').replaceChildren(
    h('a', { class: 'brand', href: address(['runs']), 'aria-label': 'Plimsoll: runs' }, h('img', { src: 'static/icon.svg', alt: '', width: 22, height: 22 }), h('span', { text: 'Plimsoll' })),
    h('nav', { 'aria-label': 'Views' }, links),
    h('div', { class: 'tools' }, h('button', { type: 'button', class: 'quiet', 'aria-label': 'Keys', title: 'Keys (?)', text: '?', onclick: () => import('./keyboard.js').then((keys) => keys.showKeys()) }), themeButton,
      session.token && !session.login && h('button', { type: 'button', class: 'quiet', text: 'Log out', onclick: logOut })));
}

async function logOut() {
  const { ownPost } = await import('./api.js');
  await ownPost('logout', {}).catch((error) => notice(error.message, { kind: 'error' }));
  takeSession({ ...session, login: true, csrf: null });
  head();
  go(['login']);
}

function markPlace(view) {
  for (const link of document.querySelectorAll('#top nav a')) {
    const here = link.dataset.place === view || (view === 'run' && link.dataset.place === 'runs');
    if (here) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

async function open() {
  const route = parse(location.hash);
  const target = resolve(route);
  const main = document.getElementById('main');
  if (session.login && target.view !== 'login') {
    sessionStorage.setItem('plimsoll.after', location.hash);
    go(['login']);
    return;
  }
  const key = JSON.stringify([target.view, target.run, target.model, target.version]);
  if (inside?.key === key && inside.moved?.({ ...route, ...target })) return;
  current?.abort();
  const stop = current = new AbortController();
  inside = { key };
  markPlace(target.view);
  const area = h('div', { class: `view ${target.view}` });
  if (target.view === 'lost') {
    main.replaceChildren(emptyState('There is no such view', 'The address leads nowhere. The runs are under “Runs” above.'));
    return;
  }
  try {
    const { open: show } = await views[target.view]();
    if (stop.signal.aborted) return;
    main.replaceChildren(area);
    main.scrollTop = 0;
    const opened = await show(area, { ...route, ...target, signal: stop.signal, title: setTitle });
    if (!stop.signal.aborted && inside?.key === key) inside.moved = opened?.moved;
  } catch (error) {
    if (stop.signal.aborted || error.name === 'AbortError') return;
    if (!main.contains(area)) main.replaceChildren(area);
    area.replaceChildren(emptyState('This could not be shown', error.message, h('p', {}, h('button', { type: 'button', text: 'Try again', onclick: open }))));
    if (!error.status && error.status !== 0) console.error(error);
  }
}

function setTitle(text) {
  document.title = text ? `${text.slice(0, 80)} – Plimsoll` : 'Plimsoll';
  announce(text ?? '');
}

async function begin() {
  applyTheme();
  onLoginWanted(() => {
    if (session.login && location.hash.startsWith('#/login')) return;
    takeSession({ ...session, login: true, token: true });
    open();
  });
  try {
    takeSession(await own('session'));
    setCsrf(session.csrf);
  } catch (error) {
    if (error.status !== 404) notice(error.message, { kind: 'error' });
  }
  head();
  addEventListener('hashchange', open);
  listenToKeys();
  await open();
}

export const refreshHead = () => { setCsrf(session.csrf); head(); markPlace(resolve(parse(location.hash)).view); };

begin();

// A menu that opens at a button, with arrow keys, and closes by itself.

import { h } from './dom.js';

let open = null;

export function closeMenu() {
  open?.close();
}

/// items: {label, run, checked?, disabled?} or '-' for a rule.
export function openMenu(button, items) {
  const again = open?.button === button;
  closeMenu();
  if (again) return;
  const stop = new AbortController();
  const entries = items.map((item) => item === '-' ? h('hr', {}) : h('button', {
    type: 'button', role: item.checked === undefined ? 'menuitem' : 'menuitemcheckbox', 'aria-checked': item.checked === undefined ? null : String(item.checked),
    tabindex: -1, disabled: item.disabled, onclick: () => { close(); item.run(); },
  }, item.checked !== undefined && h('span', { class: 'tick', text: item.checked ? '✓' : '' }), h('span', { text: item.label })));
  const box = h('div', { class: 'menu', role: 'menu' }, entries);
  const close = () => {
    stop.abort();
    box.remove();
    button.setAttribute('aria-expanded', 'false');
    if (open?.button === button) open = null;
    if (button.isConnected) button.focus({ preventScroll: true });
  };
  open = { button, close };
  button.setAttribute('aria-expanded', 'true');
  (button.closest('dialog') ?? document.body).append(box);
  const at = button.getBoundingClientRect();
  const size = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(at.left, innerWidth - size.width - 4))}px`;
  box.style.top = `${at.bottom + size.height + 4 > innerHeight && at.top > size.height ? at.top - size.height - 2 : at.bottom + 2}px`;
  const buttons = entries.filter((entry) => entry.tagName === 'BUTTON' && !entry.disabled);
  buttons[0]?.focus();
  box.addEventListener('keydown', (event) => {
    const i = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: i + 1, ArrowUp: i - 1 + buttons.length, Home: 0, End: buttons.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); buttons[to % buttons.length].focus(); }
    if (event.key === 'Escape' || event.key === 'Tab') { event.preventDefault(); event.stopPropagation(); close(); }
  });
  document.addEventListener('pointerdown', (event) => { if (!box.contains(event.target) && event.target !== button) close(); }, { signal: stop.signal, capture: true });
  addEventListener('hashchange', close, { signal: stop.signal });
}

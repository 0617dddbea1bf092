// The field where a filter is written, with suggestions below it (a combobox).

import { announce, freshId, h } from './dom.js';
import { contextAt, suggestions } from './filter.js';
import { short } from './format.js';

export function filterField({ value, facets, changed, signal }) {
  const listId = freshId('suggestions');
  const input = h('input', { type: 'search', class: 'filter', value, placeholder: 'Search: a name, or metrics.loss < 0.1 AND params.lr = \'0.1\'', role: 'combobox', 'aria-label': 'Search runs by name or filter',
    'aria-autocomplete': 'list', 'aria-expanded': 'false', 'aria-controls': listId, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', 'data-key': 'filter' });
  const list = h('ul', { id: listId, class: 'suggestions', role: 'listbox', 'aria-label': 'Suggestions', hidden: true });
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  let found = [];
  let chosen = -1;

  const close = () => {
    list.hidden = true;
    chosen = -1;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };
  const mark = (i) => {
    chosen = i;
    [...list.children].forEach((item, k) => item.setAttribute('aria-selected', String(k === i)));
    if (i >= 0) { input.setAttribute('aria-activedescendant', `${listId}-${i}`); list.children[i].scrollIntoView({ block: 'nearest' }); } else input.removeAttribute('aria-activedescendant');
  };
  const take = ({ text }) => {
    const context = contextAt(input.value, input.selectionStart);
    const after = input.value.slice(context.to);
    const word = text === 'IN' ? 'IN (' : `${text} `;
    input.value = input.value.slice(0, context.from) + word + after.replace(/^\s+/, '');
    const at = context.from + word.length;
    input.setSelectionRange(at, at);
    suggest();
    changed(input.value);
  };
  const suggest = () => {
    const context = contextAt(input.value, input.selectionStart ?? input.value.length);
    found = suggestions(context, facets());
    list.replaceChildren(...found.map((one, i) => h('li', { id: `${listId}-${i}`, role: 'option', 'aria-selected': 'false', onpointerdown: (event) => { event.preventDefault(); take(one); } },
      h('span', { text: short(one.text, 80) }), h('small', { text: one.hint }))));
    list.hidden = found.length === 0;
    chosen = -1;
    input.setAttribute('aria-expanded', String(found.length > 0));
  };
  input.addEventListener('input', () => { suggest(); changed(input.value); });
  input.addEventListener('focus', suggest);
  input.addEventListener('click', suggest);
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (list.hidden) suggest();
      if (found.length === 0) return;
      event.preventDefault();
      mark((chosen + (event.key === 'ArrowDown' ? 1 : -1) + found.length + (chosen < 0 && event.key === 'ArrowUp' ? 1 : 0)) % found.length);
    } else if ((event.key === 'Enter' || event.key === 'Tab') && chosen >= 0) { event.preventDefault(); take(found[chosen]); }
    else if (event.key === 'Enter') { close(); changed(input.value, true); }
    else if (event.key === 'Escape' && !list.hidden) { event.preventDefault(); event.stopPropagation(); close(); }
  }, { signal });
  return {
    root: h('div', { class: 'filter-field' }, input, list, problem), input,
    refresh() { if (document.activeElement === input) suggest(); },
    say(text) {
      problem.hidden = !text;
      problem.textContent = text ?? '';
      input.setAttribute('aria-invalid', String(Boolean(text)));
      if (text) announce(text);
    },
  };
}

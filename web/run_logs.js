// A run's output: its end first, more of it on demand, a search in all of it, and what comes while it runs.

import { own } from './api.js';
import { announce, emptyState, h, saveFile, whenQuiet } from './dom.js';
import { artifactBlob } from './api.js';
import { bytes, number } from './format.js';

const piece = 65536;
const mostKept = 4 << 20;

export async function openLogs(run, { signal }) {
  const { files } = await own('logs', { run_id: run.id }, signal);
  if (files.length === 0) return emptyState('No output was kept', 'Output of commands that `plimsoll run` starts is kept. Scripts that log by MLflow’s client alone leave none.');
  const state = { path: (files.find(({ path }) => path === 'output.log') ?? files[0]).path, from: 0, to: 0, size: 0, follow: run.running };
  const text = h('pre', { class: 'log', tabindex: 0, 'aria-label': 'Output of the run', role: 'log', 'aria-live': 'off' });
  const choice = h('select', { 'aria-label': 'File', onchange: () => { state.path = choice.value; begin(); } }, files.map(({ path, bytes: size }) => h('option', { value: path, text: `${path} (${bytes(size)})`, selected: path === state.path })));
  const finder = h('input', { type: 'search', placeholder: 'Search the output', 'aria-label': 'Search the output', 'data-key': 'filter' });
  const follow = h('input', { type: 'checkbox', checked: state.follow, onchange: () => { state.follow = follow.checked; if (state.follow) more(); } });
  const earlier = h('button', { type: 'button', text: 'Earlier output', hidden: true, onclick: () => before() });
  const place = h('span', { class: 'count' });
  const found = h('ol', { class: 'matches', hidden: true, 'aria-label': 'Lines that match' });

  const show = () => {
    earlier.hidden = state.from === 0;
    place.textContent = `${bytes(state.to - state.from)} of ${bytes(state.size)}`;
  };
  const ask = (question) => own('log', { run_id: run.id, path: state.path, ...question }, signal);

  async function begin(from = -piece, mark) {
    const answer = await ask({ from, bytes: piece });
    state.from = answer.from;
    state.to = answer.to;
    state.size = answer.size;
    // What begins in the middle of a line begins with the next one.
    text.replaceChildren(answer.from > 0 ? answer.text.slice(answer.text.indexOf('\n') + 1) : answer.text);
    if (answer.from > 0) state.from += new TextEncoder().encode(answer.text.slice(0, answer.text.indexOf('\n') + 1)).length;
    show();
    if (mark === undefined) setTimeout(() => { text.scrollTop = text.scrollHeight; });
    else markAt(mark);
  }

  function markAt(words) {
    const node = text.firstChild;
    const at = node ? node.data.toLowerCase().indexOf(words.toLowerCase()) : -1;
    if (at < 0) return;
    const rest = node.splitText(at);
    const after = rest.splitText(words.length);
    const mark = h('mark', { text: rest.data });
    rest.replaceWith(mark);
    text.append(after);
    mark.scrollIntoView({ block: 'center' });
  }

  async function before() {
    const from = Math.max(0, state.from - piece);
    const answer = await ask({ from, bytes: state.from - from });
    const height = text.scrollHeight;
    text.prepend(answer.text);
    state.from = answer.from;
    show();
    text.scrollTop += text.scrollHeight - height;
  }

  async function more() {
    const answer = await ask({ from: state.to, bytes: piece });
    state.size = answer.size;
    if (answer.text !== '') {
      const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 40;
      if (text.textContent.length > mostKept) { await begin(); return; }
      text.append(answer.text);
      state.to = answer.to;
      if (atEnd) text.scrollTop = text.scrollHeight;
    }
    show();
  }

  const search = whenQuiet(200, async () => {
    const words = finder.value;
    if (words === '') { found.hidden = true; return; }
    try {
      const answer = await ask({ search: words, from: 0 });
      found.hidden = false;
      found.replaceChildren(...(answer.matches.length === 0 ? [h('li', { class: 'note', text: 'No line matches.' })] : answer.matches.map((one) => h('li', {}, h('button', { type: 'button', class: 'quiet', onclick: () => begin(Math.max(0, one.from - 4096), words) },
        h('small', { text: `${number(one.line)} ` }), one.text.slice(0, 300))))));
      announce(`${answer.matches.length}${answer.complete ? '' : ' or more'} lines match`);
    } catch (error) {
      if (error.name !== 'AbortError') announce(error.message);
    }
  });
  finder.addEventListener('input', search);
  const timer = setInterval(() => { if (state.follow && run.running && !document.hidden) more().catch(() => {}); }, 2000);
  signal.addEventListener('abort', () => { clearInterval(timer); search.cancel(); });
  await begin();
  return h('div', { class: 'logs' }, h('div', { class: 'toolbar' }, choice, finder, h('label', {}, follow, ' Follow'), earlier, place,
    h('button', { type: 'button', text: 'Save', onclick: async () => saveFile(state.path.split('/').at(-1), await artifactBlob(run.id, state.path, signal)) })), found, text);
}

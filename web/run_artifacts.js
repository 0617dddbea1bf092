// Files of a run: a tree, and what can be shown of each: images, tables, texts. What is a page is shown in a sandbox where nothing of it runs.

import { artifactBlob, artifactText, mlflowGet, own } from './api.js';
import { announce, emptyState, h, notice, saveFile } from './dom.js';
import { bytes } from './format.js';

const images = /\.(png|jpe?g|gif|webp|svg|bmp|avif)$/i;
const tables = /\.(csv|tsv)$/i;
const texts = /\.(txt|log|json|ya?ml|toml|ini|md|py|sh|cfg|conf|xml|diff|patch|jsonl|rst|lock|env|requirements)$|^[^.]+$/i;
const largest = 1 << 20;

export async function openArtifacts(run, { signal }) {
  const answer = await list('');
  if (answer.length === 0) return emptyState('No files', 'Keep files with `plimsoll run --artifact PATH`, the line `plimsoll: artifact PATH`, or mlflow.log_artifact.');
  const view = h('div', { class: 'preview', 'aria-live': 'polite' }, h('p', { class: 'note', text: 'Choose a file.' }));
  let address = null;
  signal.addEventListener('abort', () => address && URL.revokeObjectURL(address));

  async function list(path) {
    return (await mlflowGet('artifacts/list', { run_id: run.id, path: path || undefined }, signal)).files ?? [];
  }

  function tree(files) {
    return h('ul', { class: 'tree' }, files.map((file) => {
      const name = file.path.split('/').at(-1);
      if (!file.is_dir) return h('li', {}, h('button', { type: 'button', class: 'quiet', onclick: (event) => choose(file, event.currentTarget) }, h('span', { text: name }), ' ', h('small', { text: bytes(Number(file.file_size)) })));
      const inside = h('div', {});
      const button = h('button', { type: 'button', class: 'quiet', 'aria-expanded': 'false', onclick: async () => {
        const open = button.getAttribute('aria-expanded') === 'true';
        button.setAttribute('aria-expanded', String(!open));
        inside.hidden = open;
        if (!open && !inside.firstChild) inside.append(tree(await list(file.path).catch((error) => { notice(error.message, { kind: 'error' }); return []; })));
      } }, `▸ ${name}/`);
      return h('li', {}, button, inside);
    }));
  }

  async function choose(file, button) {
    for (const other of document.querySelectorAll('.tree [aria-current]')) other.removeAttribute('aria-current');
    button.setAttribute('aria-current', 'true');
    try {
      const content = await contentOf(file);
      view.replaceChildren(h('div', { class: 'toolbar' }, h('b', { text: file.path }), h('small', { text: bytes(Number(file.file_size)) }),
        h('button', { type: 'button', text: 'Save', onclick: async () => saveFile(file.path.split('/').at(-1), await artifactBlob(run.id, file.path, signal)) })), content);
      announce(`${file.path} is shown`);
    } catch (error) {
      if (error.name !== 'AbortError') view.replaceChildren(h('p', { class: 'bad', text: error.message }));
    }
  }

  async function contentOf(file) {
    if (images.test(file.path)) {
      if (Number(file.file_size) > 32 * largest) return h('p', { text: 'The picture is too large to be shown here; save it.' });
      if (address) URL.revokeObjectURL(address);
      const blob = await artifactBlob(run.id, file.path, signal);
      // An image that is drawn as one runs no scripts, an SVG neither.
      address = URL.createObjectURL(blob.slice(0, blob.size, typeOf(file.path)));
      return h('img', { src: address, alt: file.path, class: 'picture' });
    }
    if (/\.html?$/i.test(file.path)) return h('iframe', { sandbox: '', src: `api/plimsoll/preview?${new URLSearchParams({ run_id: run.id, path: file.path })}`, title: file.path, class: 'page' });
    if (!texts.test(file.path.split('/').at(-1)) && !tables.test(file.path)) return h('p', { text: 'This kind of file is not shown here; save it.' });
    const { bytes: read, total } = await artifactText(run.id, file.path, { most: largest, signal });
    const text = new TextDecoder().decode(read);
    const cut = total > read.length && h('p', { class: 'note', text: `The first ${bytes(read.length)} of ${bytes(total)}.` });
    if (tables.test(file.path)) return h('div', {}, cut, tableOf(text, /\.tsv$/i.test(file.path) ? '\t' : ','));
    return h('div', {}, cut, h('pre', { class: 'content', tabindex: 0, text: /\.json$/i.test(file.path) ? pretty(text) : text }));
  }

  return h('div', { class: 'artifacts' }, h('nav', { 'aria-label': 'Files' }, tree(answer)), view);
}

const typeOf = (path) => ({ svg: 'image/svg+xml', png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', bmp: 'image/bmp', avif: 'image/avif' })[path.split('.').at(-1).toLowerCase()] ?? 'application/octet-stream';

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

export function csvRows(text, separator, most = 500) {
  const rows = [[]];
  let cell = '';
  let inside = false;
  for (let i = 0; i < text.length && rows.length <= most; i += 1) {
    const c = text[i];
    if (inside) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') { cell += '"'; i += 1; } else inside = false;
    } else if (c === '"' && cell === '') inside = true;
    else if (c === separator || c === '\n') {
      rows.at(-1).push(cell.replace(/\r$/, ''));
      cell = '';
      if (c === '\n') rows.push([]);
    } else cell += c;
  }
  if (cell !== '' || rows.at(-1).length > 0) rows.at(-1).push(cell);
  return rows.filter((row) => row.length > 0);
}

function tableOf(text, separator) {
  const [head, ...rows] = csvRows(text, separator);
  if (!head) return h('p', { text: 'The file is empty.' });
  return h('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'The table' }, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, head.map((word) => h('th', { scope: 'col', text: word })))), h('tbody', {}, rows.map((row) => h('tr', {}, row.map((word) => h('td', { class: word !== '' && !Number.isNaN(Number(word)) ? 'number' : null, text: word })))))),
    rows.length >= 499 && h('p', { class: 'note', text: 'The first 500 rows.' }));
}

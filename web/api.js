// Calls to the server. A refusal is an Error whose message says what to do.

export class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

let csrf = '';
const loginWanted = new EventTarget();

export const onLoginWanted = (call) => loginWanted.addEventListener('wanted', call);
export const setCsrf = (token) => { csrf = token ?? ''; };

const mlflow = 'ajax-api/2.0/mlflow/';

async function refusalOf(answer) {
  const text = await answer.text();
  try {
    const told = JSON.parse(text);
    return new Refusal(answer.status, told.error_code ?? '', told.message ?? told.error ?? text);
  } catch {
    return new Refusal(answer.status, '', text.slice(0, 500) || `The server answered ${answer.status}.`);
  }
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, { credentials: 'same-origin', cache: 'no-store', ...options });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refusal(0, 'AWAY', 'The server does not answer. Look whether `plimsoll serve` still runs; the page tries again.');
  }
  if (answer.ok) return answer;
  const refusal = await refusalOf(answer);
  if (answer.status === 401) loginWanted.dispatchEvent(new Event('wanted'));
  throw refusal;
}

const withQuery = (path, query) => {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined || value === null) continue;
    for (const one of Array.isArray(value) ? value : [value]) words.append(name, one);
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
};

export async function get(path, query, signal) {
  return (await ask(withQuery(path, query), { signal })).json();
}

export async function send(path, body, { method = 'POST', signal } = {}) {
  const file = body instanceof Blob;
  const answer = await ask(path, { method, signal, body: body === undefined ? undefined : file ? body : JSON.stringify(body),
    headers: { 'Content-Type': file ? 'application/octet-stream' : 'application/json', ...(csrf ? { 'X-Plimsoll-Csrf': csrf } : {}) } });
  const text = await answer.text();
  return text ? JSON.parse(text) : {};
}

export const mlflowGet = (call, query, signal) => get(mlflow + call, query, signal);
export const mlflowPost = (call, body, signal) => send(mlflow + call, body, { signal });
export const own = (call, query, signal) => get(`api/plimsoll/${call}`, query, signal);
export const ownPost = (call, body, signal) => send(`api/plimsoll/${call}`, body, { signal });

export const artifactAddress = (run, path) => withQuery('get-artifact', { run_uuid: run, path });

export async function artifactText(run, path, { from = 0, most = 1 << 20, signal } = {}) {
  const answer = await ask(artifactAddress(run, path), { signal, headers: { Range: `bytes=${from}-${from + most - 1}` } });
  const range = /\/(\d+)$/.exec(answer.headers.get('Content-Range') ?? '');
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return { bytes, total: range ? Number(range[1]) : bytes.length };
}

export async function artifactBlob(run, path, signal) {
  return (await ask(artifactAddress(run, path), { signal })).blob();
}

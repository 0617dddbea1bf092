// MLflow's filter language (docs/commands/runs.md), as far as suggesting needs it. The server alone decides what a filter means.

const token = /\s+|'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|`[^`]*`?|!=|<=|>=|[<>=(),]|[^\s'"`!<>=(),]+|!/g;

export function tokens(text) {
  const out = [];
  for (const match of text.matchAll(token)) {
    if (/^\s/.test(match[0])) continue;
    const last = out.at(-1);
    // params.`my key` is one name.
    if (last && last.to === match.index && last.text.endsWith('.') && /^["`]/.test(match[0])) {
      last.text += match[0];
      last.to += match[0].length;
    } else out.push({ text: match[0], from: match.index, to: match.index + match[0].length });
  }
  return out;
}

const symbols = new Set(['=', '!=', '<', '<=', '>', '>=']);
const isComparison = (text) => symbols.has(text) || /^(like|ilike|in|not|is|null)$/i.test(text);

/// What is expected where the caret is: a field, a comparison, a value, or AND; what is written of it, and from where.
export function contextAt(text, caret) {
  const all = tokens(text);
  const before = all.filter((one) => one.to < caret || (one.to === caret && /[,()]/.test(one.text)));
  const current = all.find((one) => one.from < caret && caret <= one.to && !/[,()]/.test(one.text));
  let expects = 'field';
  let field = '';
  let comparison = '';
  let list = false;
  for (const { text: word } of before) {
    if (expects === 'field') { field = word; expects = 'comparison'; comparison = ''; }
    else if (expects === 'comparison') {
      comparison = `${comparison} ${word.toUpperCase()}`.trim();
      if (comparison === 'NOT' || comparison === 'IS' || comparison === 'IS NOT') continue;
      expects = /NULL$/.test(comparison) ? 'and' : 'value';
    } else if (expects === 'value') {
      if (word === '(') list = true;
      else if (word === ')') { list = false; expects = 'and'; }
      else if (!list) expects = 'and';
    } else if (/^and$/i.test(word)) expects = 'field';
  }
  return { expects, field, comparison, prefix: current ? current.text.slice(0, caret - current.from) : '', from: current ? current.from : caret, to: current ? current.to : caret };
}

const plain = /^[\p{L}\p{N}_\-./]+$/u;
export const named = (kind, key) => plain.test(key) ? `${kind}.${key}` : key.includes('`') ? `${kind}."${key}"` : `${kind}.\`${key}\``;
export const quoted = (value) => `'${value.replaceAll("'", "\\'")}'`;

const attributes = [['attributes.run_name', 'the name'], ['attributes.status', 'how it stands'], ['attributes.start_time', 'a date, or milliseconds'], ['attributes.duration', 'seconds'],
  ['attributes.user_id', 'who started it'], ['attributes.run_id', ''], ['attributes.experiment_name', ''], ['attributes.end_time', ''], ['datasets.name', 'one of its inputs'], ['datasets.digest', '']];
const statuses = ['RUNNING', 'FINISHED', 'FAILED', 'KILLED', 'SCHEDULED'];

/// facets: {metrics, params, tags: names; users, experiments; values(field): known values}
export function suggestions(context, facets, most = 12) {
  const { expects, field, prefix } = context;
  const like = prefix.toLowerCase().replace(/^attributes?\.|["'`]/g, '');
  let all = [];
  if (expects === 'field') {
    all = [...(facets.metrics ?? []).map((key) => [named('metrics', key), 'metric']), ...(facets.params ?? []).map((key) => [named('params', key), 'parameter']),
      ...attributes, ...(facets.tags ?? []).map((key) => [named('tags', key), 'tag'])];
  } else if (expects === 'comparison') {
    const numeric = /^(metrics\.|attributes?\.(start_time|end_time|duration))/.test(field);
    all = (numeric ? ['<', '>', '=', '<=', '>=', '!=', 'IS NULL', 'IS NOT NULL'] : ['=', 'ILIKE', 'LIKE', '!=', 'IN', 'IS NULL', 'IS NOT NULL']).map((word) => [word, '']);
  } else if (expects === 'value') {
    if (/status$/.test(field)) all = statuses.map((word) => [quoted(word), '']);
    else if (/start_time|end_time/.test(field)) all = [0, 1, 7, 30].map((days) => [quoted(new Date(Date.now() - days * 864e5).toISOString().slice(0, 10)), days === 0 ? 'today' : `${days} days ago`]);
    else if (/user_id$/.test(field)) all = (facets.users ?? []).map((name) => [quoted(name), '']);
    else if (/experiment_name$/.test(field)) all = (facets.experiments ?? []).map(({ name }) => [quoted(name), '']);
    else if (!/^metrics|duration/.test(field)) all = (facets.values?.(field) ?? []).map((value) => [quoted(value), '']);
  } else all = [['AND', '']];
  const rank = (text) => {
    const low = text.toLowerCase().replace(/["'`]/g, '');
    const at = low.replace(/^(attributes|metrics|params|tags)\./, '').indexOf(like);
    return like === '' ? 0 : at === 0 || low.startsWith(like) ? 0 : at > 0 ? 1 : low.includes(like) ? 2 : 9;
  };
  return all.map(([text, hint], i) => ({ text, hint, rank: rank(text), i })).filter((one) => one.rank < 9 && one.text !== prefix)
    .sort((a, b) => a.rank - b.rank || a.i - b.i).slice(0, most);
}

/// What is sent: a filter as it stands; words without a comparison are looked for in names.
export function filterOf(text) {
  const words = text.trim();
  if (words === '') return '';
  if (tokens(words).some(({ text: word }) => isComparison(word))) return words;
  return `attributes.run_name ILIKE ${quoted(`%${words}%`)}`;
}

/// What is missing at the end of a filter that is being written; nothing where it is whole.
export function missing(text) {
  const all = tokens(text);
  const last = all.at(-1)?.text ?? '';
  if (!all.some(({ text: word }) => isComparison(word))) return '';
  if (/^'/.test(last) && !/^'(?:[^'\\]|\\.)*'$/s.test(last)) return 'A quote is not closed yet.';
  const { expects, comparison, field } = contextAt(`${text} `, text.length + 1);
  if (expects === 'and') return '';
  return { field: 'After AND comes another comparison.', comparison: `A comparison follows ${field}.`, value: `A value follows ${comparison}.` }[expects];
}

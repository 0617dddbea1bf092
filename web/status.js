// How a run stands: a shape, a colour and a word, so that none of them is needed alone.

import { h } from './dom.js';

const kinds = { RUNNING: ['●', 'running', 'open'], FINISHED: ['✓', 'finished', 'good'], FAILED: ['✗', 'failed', 'bad'], KILLED: ['■', 'killed', 'bad'], SCHEDULED: ['○', 'scheduled', 'faint'] };

export function statusOf(status) {
  const [sign, word, kind] = kinds[status] ?? ['?', String(status).toLowerCase(), 'faint'];
  return h('span', { class: `status ${kind}` }, h('span', { 'aria-hidden': 'true', text: sign }), ` ${word}`);
}

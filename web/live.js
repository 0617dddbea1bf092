// What changes on the server, as it says it by events; of all views there is one stream at a time.

import { setting } from './settings.js';

const wait = 5000;

/// handlers: {event name: call(data)}; goes on until the signal. Where the stream breaks it is opened again, and all is told anew.
export function follow(query, handlers, signal, status = () => {}) {
  let source;
  let timer;
  const open = () => {
    if (signal.aborted || setting('paused', false)) return;
    source = new EventSource(`api/plimsoll/events?${new URLSearchParams(query)}`);
    for (const [name, call] of Object.entries(handlers))
      source.addEventListener(name, (event) => {
        let data;
        try { data = JSON.parse(event.data); } catch { return; }
        call(data);
      });
    source.addEventListener('open', () => status('live'));
    source.addEventListener('error', () => {
      status('away');
      source.close();
      clearTimeout(timer);
      timer = setTimeout(open, wait);
    });
  };
  open();
  // A page that is left may be kept for the way back: its stream would hold one of the few connections to this server.
  addEventListener('pagehide', () => { clearTimeout(timer); source?.close(); }, { signal });
  addEventListener('pageshow', (event) => { if (event.persisted) open(); }, { signal });
  signal.addEventListener('abort', () => { clearTimeout(timer); source?.close(); });
}

/// The points of a run in a `snapshot` or `change`.
export const pointsOf = (run) => (run.metrics ?? []).map(([key, value, step, time]) => ({ key, value, step, time }));

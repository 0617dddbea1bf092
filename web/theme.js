import { keep, setting } from './settings.js';

const listeners = new Set();

/// "light", "dark" or "system".
export const theme = () => setting('theme', 'system');

export function applyTheme() {
  const chosen = theme();
  document.documentElement.dataset.theme = chosen === 'system' ? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light') : chosen;
  for (const call of listeners) call();
}

export function setTheme(name) {
  keep('theme', name);
  applyTheme();
}

export const onTheme = (call, signal) => {
  listeners.add(call);
  signal?.addEventListener('abort', () => listeners.delete(call));
};

/// The colours of this theme, for what is drawn.
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { ground: of('--ground'), ink: of('--ink'), faint: of('--faint'), rule: of('--rule'), accent: of('--accent'),
    series: Array.from({ length: 12 }, (_, i) => of(`--series-${i}`)) };
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', applyTheme);

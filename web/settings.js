// What somebody chose, kept in this browser. A browser that keeps nothing is as good for one visit.

const prefix = 'plimsoll.';
const visit = new Map();

export function setting(name, otherwise) {
  if (visit.has(name)) return visit.get(name);
  try {
    const text = localStorage.getItem(prefix + name);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

export function keep(name, value) {
  visit.set(name, value);
  try {
    localStorage.setItem(prefix + name, JSON.stringify(value));
  } catch { /* for this visit only */ }
}

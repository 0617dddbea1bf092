// Lists that change in place: an element per key, texts set only where they differ, so that what is focused stays so.

export function keyed(place, items, keyOf, make, update) {
  place.known ??= new Map();
  const left = new Set(place.known.keys());
  let before = null;
  for (const item of items) {
    const key = keyOf(item);
    left.delete(key);
    let entry = place.known.get(key);
    if (!entry) {
      entry = make(item);
      place.known.set(key, entry);
    }
    update(entry, item);
    const after = before ? before.nextSibling : place.firstChild;
    if (entry.root !== after) place.insertBefore(entry.root, after);
    before = entry.root;
  }
  for (const key of left) {
    place.known.get(key).root.remove();
    place.known.delete(key);
  }
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

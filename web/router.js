// Every view has an address, in the part behind '#', as MLflow's has: links that its clients print lead to the run.

export function parse(hash) {
  const text = hash.replace(/^#\/?/, '');
  const cut = text.indexOf('?');
  const path = (cut < 0 ? text : text.slice(0, cut)).split('/').filter((part) => part !== '').map(unescapePart);
  return { path, query: new URLSearchParams(cut < 0 ? '' : text.slice(cut + 1)) };
}

function unescapePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function address(path, query) {
  const words = new URLSearchParams(Object.entries(query ?? {}).filter(([, value]) => value !== '' && value !== undefined && value !== null));
  const text = words.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
}

/// Where a path leads: the view's name and what it is about.
export function resolve({ path, query }) {
  const [first, second, third, fourth] = path;
  switch (first) {
    case undefined: return { view: 'runs' };
    case 'runs': return second ? { view: 'run', run: second, part: third } : { view: 'runs' };
    case 'experiments':
      if (third === 'runs' && fourth) return { view: 'run', run: fourth, part: path[4] };
      return { view: 'runs', experiment: second };
    case 'compare': return { view: 'compare', runs: (query.get('runs') ?? '').split(',').filter(Boolean) };
    case 'compare-runs': return { view: 'compare', runs: list(query.get('runs')) };
    case 'models': return { view: 'models', model: second, version: third === 'versions' ? fourth : undefined };
    case 'now': case 'network': case 'share': case 'login': return { view: first, part: second };
    default: return { view: 'lost' };
  }
}

function list(text) {
  try {
    const value = JSON.parse(text ?? '[]');
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  } catch {
    return [];
  }
}

export const go = (path, query) => { location.hash = address(path, query); };

/// Changes the address without opening the view anew.
export const rewrite = (path, query) => history.replaceState(null, '', address(path, query));

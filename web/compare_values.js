// What runs can be compared by: parameters, newest metrics, time and energy. A field is numeric where all its values are.

import { quantity, seconds, short, unknown } from './format.js';
import { numeric } from './series.js';
import { isHardware, titleOf, unitOf } from './units.js';

export function energyOf(run) {
  let sum = 0;
  let any = false;
  for (const [key, metric] of run.metrics)
    if (/^system\/run\/gpu\/\d+\/energy$/.test(key)) { sum += numeric(metric.value); any = true; }
  return any ? sum : null;
}

function field(id, label, values, unit = '') {
  const known = values.filter((value) => value !== null);
  const isNumber = known.length > 0 && known.every((value) => typeof value === 'number' || (value !== '' && Number.isFinite(Number(value))));
  return { id, label, unit, values: isNumber ? values.map((value) => value === null ? NaN : Number(value)) : values, isNumber, known: known.length,
    differs: new Set(values.map(String)).size > 1,
    text: (value) => value === null || Number.isNaN(value) && !known.includes(value) ? unknown : isNumber ? (unit === 's' ? seconds(value) : quantity(value, unit)) : short(String(value), 200) };
}

export function fieldsOf(runs) {
  const keys = (of) => [...new Set(runs.flatMap((run) => [...of(run).keys()]))].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const out = keys((run) => run.params).map((key) => field(`params.${key}`, key, runs.map((run) => run.params.get(key) ?? null)));
  const metrics = keys((run) => run.metrics);
  for (const key of metrics.filter((one) => !isHardware(one) && !one.startsWith('summary/'))) out.push(field(`metrics.${key}`, key, runs.map((run) => run.metrics.has(key) ? numeric(run.metrics.get(key).value) : null), unitOf(key)));
  out.push(field('duration', 'duration', runs.map((run) => run.seconds), 's'));
  const energies = runs.map(energyOf);
  if (energies.some((value) => value !== null)) out.push(field('energy', 'energy', energies, 'J'));
  for (const key of metrics.filter(isHardware)) out.push({ ...field(`metrics.${key}`, titleOf(key), runs.map((run) => run.metrics.has(key) ? numeric(run.metrics.get(key).value) : null), unitOf(key)), hardware: true });
  for (const [id, label, of] of [['status', 'status', (run) => run.info.status], ['user', 'user', (run) => run.info.user_id ?? null], ['host', 'machine', (run) => run.tag('host') ?? null]]) out.push(field(id, label, runs.map(of)));
  return out;
}

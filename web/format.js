// Numbers with units, for people. What is not known is a dash.

export const unknown = '–';

const sixth = 1e6;

export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return value === undefined || value === null ? unknown : 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  const size = Math.abs(value);
  if (value === 0) return '0';
  if (Number.isInteger(value) && size < 1e7) return value.toLocaleString('en', { maximumFractionDigits: 0 }).replace(/,/g, ' ').replace('-', '−');
  if (size >= 1e7 || size < 1e-4) return value.toExponential(Math.max(0, digits - 1)).replace(/\.?0+e/, 'e').replace('e+', 'e').replaceAll('-', '−');
  return String(Number(value.toPrecision(digits))).replace('-', '−');
}

function scaled(value, unit, base, prefixes) {
  if (!Number.isFinite(value)) return number(value);
  let size = Math.abs(value);
  let step = 0;
  while (size >= base && step < prefixes.length - 1) {
    size /= base;
    step += 1;
  }
  const shown = size >= 100 ? size.toFixed(0) : size >= 10 ? size.toFixed(1) : size.toPrecision(3);
  return `${value < 0 ? '−' : ''}${step === 0 ? number(size, 3) : shown} ${prefixes[step]}${unit}`;
}

const metric = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
const small = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']];

export const bytes = (value) => value === null || value === undefined ? unknown : scaled(value, 'B', 1024, ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi']);
export const joules = (value) => value === null || value === undefined ? unknown : scaled(value, 'J', 1000, metric);
export const watts = (value) => value === null || value === undefined ? unknown : `${number(Math.round(value * 10) / 10)} W`;
export const share = (value) => {
  if (value === null || value === undefined) return unknown;
  const percent = value * 100;
  return `${percent !== 0 && Math.abs(percent) < 10 ? number(Number(percent.toPrecision(2))) : number(Math.round(percent))} %`;
};

export function seconds(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return unknown;
  const size = Math.abs(value);
  const sign = value < 0 ? '−' : '';
  if (size === 0) return '0 s';
  if (size < 60) {
    const [factor, unit] = small.find(([limit]) => size >= limit) ?? small.at(-1);
    return `${sign}${Number((size / factor).toPrecision(3))} ${unit}`;
  }
  const whole = Math.round(size);
  const days = Math.floor(whole / 86400);
  const hours = Math.floor(whole / 3600) % 24;
  const minutes = Math.floor(whole / 60) % 60;
  const two = (large, unit, rest, small) => `${sign}${large} ${unit}${rest > 0 ? ` ${rest} ${small}` : ''}`;
  if (days > 0) return two(days, 'd', hours, 'h');
  if (hours > 0) return two(hours, 'h', minutes, 'min');
  return two(minutes, 'min', whole % 60, 's');
}

/// A value in its unit, as the server names units.
export function quantity(value, unit) {
  switch (unit) {
    case 'B': return bytes(value);
    case 'B/s': return value === null || value === undefined ? unknown : `${bytes(value)}/s`;
    case 'J': return joules(value);
    case 'W': return watts(value);
    case 's': return seconds(value);
    case 'share': return share(value);
    case 'Hz': return value === null || value === undefined ? unknown : scaled(value, 'Hz', 1000, metric);
    case 'FLOP': return value === null || value === undefined ? unknown : scaled(value, 'FLOP', 1000, metric);
    case 'FLOP/s': return value === null || value === undefined ? unknown : scaled(value, 'FLOP/s', 1000, metric);
    case '': case undefined: case null: case '1': return number(value);
    default: return value === null || value === undefined ? unknown : `${number(value)} ${unit}`;
  }
}

export const count = (value) => value === null || value === undefined ? unknown : value < sixth * 10 ? number(value) : scaled(value, '', 1000, metric);

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' });
const thisDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const thisYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const anyDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });

export const moment = (milliseconds) => milliseconds ? dateTime.format(milliseconds) : unknown;

/// A moment, as short as can be and still clear.
export function when(milliseconds, now = Date.now()) {
  if (!milliseconds) return unknown;
  const date = new Date(milliseconds);
  const today = new Date(now);
  if (date.toDateString() === today.toDateString()) return thisDay.format(date);
  return (date.getFullYear() === today.getFullYear() ? thisYear : anyDay).format(date);
}

export function ago(milliseconds, now = Date.now()) {
  if (!milliseconds) return unknown;
  const gone = (now - milliseconds) / 1000;
  return gone < 1 ? 'now' : `${seconds(gone < 60 ? Math.round(gone) : gone)} ago`;
}

/// Long texts are cut where they only name something; their whole stands where they are read.
export const short = (text, length = 120) => text.length > length ? `${text.slice(0, length)}…` : text;

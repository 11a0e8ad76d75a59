/** Numbers as people read them. Instants and lengths come in microseconds. */

const US = 1e6;

/** What stands before the decimals; it comes with the language. */
let mark = '.';
/** @param {string} sign */
export const markDecimals = (sign) => { mark = sign; };

/** A number with so many decimals. @param {number} n @param {number} digits */
export const fixed = (n, digits) => n.toFixed(digits).replace('.', mark);

/**
 * A point in time: `18.250 s`, `12:05.250`, `1:02:03.250`.
 * @param {number} us
 */
export function clock(us) {
  const ms = Math.max(0, Math.floor(us / 1000));
  const s = Math.floor(ms / 1000);
  const frac = String(ms % 1000).padStart(3, '0');
  if (s < 60) return `${s}${mark}${frac} s`;
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  const h = Math.floor(s / 3600);
  const m = Math.floor(s / 60) % 60;
  return h ? `${h}:${two(m)}:${two(s % 60)}${mark}${frac}` : `${m}:${two(s % 60)}${mark}${frac}`;
}

/**
 * A length as a countdown shows it: `42 s`, `3:20`, `1:02:03`; rounded up, so
 * that zero means now.
 * @param {number} us
 */
export function span(us) {
  const s = Math.max(0, Math.ceil(us / US));
  if (s < 60) return `${s} s`;
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  const h = Math.floor(s / 3600);
  const m = Math.floor(s / 60) % 60;
  return h ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}

/**
 * A length that is over: `0.31 s`, `4.2 s`, `42 s`, `3:20`.
 * @param {number} us
 */
export function lasted(us) {
  if (us < US) return `${fixed(us / US, 2)} s`;
  if (us < 10 * US) return `${fixed(us / US, 1)} s`;
  return span(us < 60 * US ? Math.round(us / US) * US : Math.floor(us / US) * US);
}

/** Where there is no number yet. */
export const NOTHING = '–';

const NUMBERS = new Intl.NumberFormat('en');
/** @param {number} n */
export function count(n) {
  return n < 1000 ? String(n) : NUMBERS.format(n).replaceAll(',', '\u202f');
}

/** @param {number} n */
export function bytes(n) {
  if (n < 1000) return `${n} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = n / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? fixed(value, 1) : Math.round(value)} ${units[unit]}`;
}

/** @param {number} ratio */
export function percent(ratio) {
  return `${Math.floor(Math.min(1, Math.max(0, ratio)) * 100)} %`;
}

/** @param {number} speed */
export function times(speed) {
  if (speed < 0.25) return `1/${Math.round(1 / speed)}×`;
  if (speed === 0.25) return '¼×';
  if (speed === 0.5) return '½×';
  return `${speed}×`;
}

/** The address without its port. @param {string} peer */
export function host(peer) {
  return /^\d+(\.\d+){3}:\d+$/.test(peer) || peer.startsWith('[') ? peer.replace(/:\d+$/, '').replace(/^\[|\]$/g, '') : peer;
}

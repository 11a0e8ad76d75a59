/** What German sentences have in common. */
import { count, fixed } from '#lab/format.js';

/** @typedef {Record<string, any>} Args */
/** @typedef {Record<string, string | ((a: Args) => string)>} Sentences */

/** @param {number} n @param {string} one @param {string} many */
export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

/** A length in milliseconds, or seconds. @param {number} us */
export const ms = (us) => (us < 1e6 ? `${Math.round(us / 1e3)} ms` : `${fixed(us / 1e6, 2)} s`);

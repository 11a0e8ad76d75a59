/** What the sentences of all languages but English have in common. */
import { count, fixed } from '#lab/format.js';

/** @typedef {Record<string, any>} Args */
/** @typedef {Record<string, string | ((a: Args) => string)>} Sentences */

/** A number and what is counted, by the plural rules of a language: `0 place` in French, `0 Plätze` in German. @param {string} language */
export function pluralIn(language) {
  const rules = new Intl.PluralRules(language);
  return (/** @type {number} */ n, /** @type {string} */ one, /** @type {string} */ many) => `${count(n)} ${rules.select(n) === 'one' ? one : many}`;
}

/** A length in milliseconds, or seconds. @param {number} us */
export const ms = (us) => (us < 1e6 ? `${Math.round(us / 1e3)} ms` : `${fixed(us / 1e6, 2)} s`);

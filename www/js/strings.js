/** Looks sentences up. */
import { en } from '#lab/strings/en.js';

/** Sentences of the view that is looked at; they come with it, and go before those of all. @type {typeof en} */
let own = {};
/** @param {typeof en} [sentences] */
export const speak = (sentences = {}) => { own = sentences; };

/**
 * The sentence of a key, with its arguments put in.
 * @param {string} key
 * @param {Record<string, any>} [args]
 * @returns {string}
 */
export function t(key, args = {}) {
  const found = own[key] ?? en[key];
  if (found === undefined) return key;
  if (typeof found === 'function') return found(args);
  return found.replace(/\{(\w+)\}/g, (_, arg) => String(args[arg] ?? ''));
}

/** @param {string} key */
export const known = (key) => key in own || key in en;

/**
 * What a record says, as a sentence.
 * @param {import('./types').LabRecord} record
 */
export function tell(record) {
  const [area, body] = Object.entries(record.event)[0];
  const key = `${area}.${body.what}`;
  return known(key) ? t(key, { ...body, who: record.who ?? null, node: record.node_name || 'the servent' }) : key;
}

/**
 * The rule behind a record, or an empty string.
 * @param {string} key
 * @param {Record<string, any>} args
 */
export function reason(key, args) {
  for (const candidate of [args.dialect ? `${key}.${args.dialect}.why` : '', args.keep ? `${key}.keep.why` : '', `${key}.why`, key.replace(/\.[^.]+$/, '.why')]) {
    if (candidate && known(candidate)) return t(candidate, args);
  }
  return '';
}

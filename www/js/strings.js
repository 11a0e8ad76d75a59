/** Looks sentences up. */
import { markDecimals } from '#lab/format.js';
import { en } from '#lab/strings/en.js';

/**
 * Another language than English.
 * @typedef {object} Tongue
 * @property {string} id as browsers name it
 * @property {string} decimal what stands before the decimals
 * @property {typeof en} page sentences of the frame, of the first view, and of the stories of all
 * @property {Record<string, typeof en>} views those of the other views, which go before those of all
 */

/** Sentences of the view that is looked at; they come with it, and go before those of all. @type {typeof en} */
let own = {};
/** The same in the language that is spoken. @type {typeof en} */
let ownHere = {};
/** @type {Tongue|null} */
let tongue = null;

/** @param {typeof en} [sentences] @param {string} [view] whose they are */
export function speak(sentences = {}, view = '') {
  own = sentences;
  ownHere = tongue?.views[view] ?? {};
}

/** Speaks another language from now on, or English. @param {Tongue|null} other */
export function speakIn(other) {
  tongue = other;
  markDecimals(other?.decimal ?? '.');
}

/** Sentences of views that are loaded: a recording tells of more than the view that is looked at. @type {Map<string, typeof en>} */
const loaded = new Map();

/** Learns the sentences of a view without looking at it. @param {typeof en} sentences @param {string} view */
export const learn = (sentences, view) => loaded.set(view, sentences);

/** @param {string} key */
function elsewhere(key) {
  for (const [view, sentences] of loaded) {
    const found = tongue?.views[view]?.[key] ?? sentences[key];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** @param {string} key */
const sentenceOf = (key) => ownHere[key] ?? (key in own ? own[key] : tongue?.page[key] ?? en[key]) ?? elsewhere(key);

/**
 * The sentence of a key, with its arguments put in.
 * @param {string} key
 * @param {Record<string, any>} [args]
 * @returns {string}
 */
export function t(key, args = {}) {
  const found = sentenceOf(key);
  if (found === undefined) return key;
  if (typeof found === 'function') return found(args);
  return found.replace(/\{(\w+)\}/g, (_, arg) => String(args[arg] ?? ''));
}

/** @param {string} key */
export const known = (key) => sentenceOf(key) !== undefined;

/**
 * What a record says, as a sentence.
 * @param {import('./types').LabRecord} record
 */
export function tell(record) {
  const [area, body] = Object.entries(record.event)[0];
  const key = `${area}.${body.what}`;
  return known(key) ? t(key, { ...body, who: record.who ?? null, node: record.node_name || t('who.servent') }) : key;
}

/** What a story is called and about; in English the core says it. @param {{id: string, title: string, text: string}} story */
export function storyOf({ id, title, text }) {
  const key = `story.${id}`;
  return known(key) ? { title: t(key), text: t(`${key}.text`) } : { title, text };
}

/**
 * The rule behind a record, or an empty string.
 * @param {string} key
 * @param {Record<string, any>} args
 */
export function reason(key, args) {
  const base = key.split('.').slice(0, 2).join('.');
  for (const candidate of [args.case ? `${base}.${args.case}.why` : '', args.dialect ? `${key}.${args.dialect}.why` : '', args.keep ? `${key}.keep.why` : '', args.verdict ? `${key}.${args.verdict}.why` : '', `${key}.why`, key.replace(/\.[^.]+$/, '.why')]) {
    if (candidate && known(candidate)) return t(candidate, args);
  }
  return '';
}

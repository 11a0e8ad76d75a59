/** What a lesson's text sets apart: `names`, *words* and **terms**. */
import { el } from '#lab/dom.js';

/** A stretch of text, or an element with what stands in it. @typedef {string|{tag: typeof TAGS[number], parts: Part[]}} Part */

/** Each alternative has its words as a group of its own, in the order of `TAGS`; a star beside a space is no mark. */
const MARKS = /`([^`]+)`|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*/g;
const TAGS = /** @type {const} */ (['code', 'strong', 'em']);

/** A text in parts, without its marks. @param {string} text @returns {Part[]} */
export function parts(text) {
  const all = /** @type {Part[]} */ ([]);
  let done = 0;
  for (const found of text.matchAll(MARKS)) {
    const tag = TAGS[TAGS.findIndex((_, i) => found[i + 1] !== undefined)];
    const inside = found[TAGS.indexOf(tag) + 1];
    // What is emphasized may hold names; a name is what it is.
    all.push(text.slice(done, found.index), { tag, parts: tag === 'code' ? [inside] : parts(inside) });
    done = found.index + found[0].length;
  }
  all.push(text.slice(done));
  return all.filter((part) => part !== '');
}

/** @param {Part} part @returns {string|Node} */
const node = (part) => (typeof part === 'string' ? part : el(part.tag, {}, ...part.parts.map(node)));
/** @param {Part} part @returns {string} */
const words = (part) => (typeof part === 'string' ? part : part.parts.map(words).join(''));

/** A text as it stands on the page. @param {string} text @returns {(string|Node)[]} */
export const marked = (text) => parts(text).map(node);

/** The names in a text. @param {string} text */
export const names = (text) => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name);

/** A text for what shows no marks: speech, tables, labels. @param {string} text */
export const plain = (text) => parts(text).map(words).join('');

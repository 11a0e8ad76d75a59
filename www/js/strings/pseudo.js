/**
 * Invented languages, for translators and tests. `xa` is English with
 * marks on its letters and room for longer words: what stays plain is no sentence
 * of ours, and what does not fit will not fit in Finnish. `xb` is the same from
 * right to left.
 */
import { en } from '#lab/strings/en.js';
import { routing } from '#lab/strings/routing.js';
import { swarm } from '#lab/strings/swarm.js';
import { unicast } from '#lab/strings/unicast.js';

/** @import { Tongue } from '#lab/strings.js' */

const PLAIN = 'aceinosuyzACEINOSUYZ';
const MARKED = 'áçéíñóšúýžÁÇÉÍÑÓŠÚÝŽ';
/** Sentences of other languages are that much longer. */
const LONGER = 0.35;

/** Arguments, names and marks stay as they are. @param {string} text */
function marked(text) {
  if (!/[a-z]/i.test(text)) return text;
  const letters = text.split(/(\{\w+\}|`[^`]*`)/).map((part, i) => (i % 2 ? part : part.replace(/[a-z]/gi, (letter) => MARKED[PLAIN.indexOf(letter)] ?? letter)));
  return `${letters.join('')}${' ···'.repeat(Math.ceil((text.length * LONGER) / 4))}`;
}

/** @param {typeof en} sentences @returns {typeof en} */
const all = (sentences) => Object.fromEntries(Object.entries(sentences).map(([key, found]) => [key, typeof found === 'function' ? (/** @type {Record<string, any>} */ args) => marked(found(args)) : marked(found)]));

/** @param {string} id @returns {Tongue} */
export const pseudo = (id) => ({ id, decimal: '.', page: all(en), views: { routing: all(routing), swarm: all(swarm), unicast: all(unicast) } });

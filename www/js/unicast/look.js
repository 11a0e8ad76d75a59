/** Colours, strokes and heads of the unicast, taken from the style sheet. */

import { inks } from '#lab/theme.js';

/** @import { HeadShape } from '../ladder/draw.js' */
/** @import { Kind } from './words.js' */

const NAMES = /** @type {const} */ (['ink', 'ink-soft', 'line', 'line-strong', 'surface', 'paper', 'sunken', 'accent', 'accent-wash', 'data', 'again', 'ack', 'want', 'close', 'lost', 'held', 'held-wash', 'taken', 'flow-1', 'flow-2', 'flow-3']);

/** @typedef {Record<typeof NAMES[number], string> & {font: string, size: number, gutter: number}} Palette */

/** Custom properties as colours a canvas understands. @param {Element} host @returns {Palette} */
export function palette(host) {
  const { colours, font, rem } = inks(host, NAMES);
  return { ...colours, font, size: Math.round(rem * 0.72), gutter: 4 * rem };
}

/**
 * How each kind is drawn: never by colour alone.
 * @type {Record<Kind, {width: number, dash: number[], head: HeadShape}>}
 */
export const STROKES = {
  data: { width: 1.75, dash: [], head: 'full' },
  again: { width: 2.25, dash: [9, 3], head: 'double' },
  ack: { width: 1.25, dash: [], head: 'open' },
  want: { width: 1.75, dash: [2, 3], head: 'diamond' },
  close: { width: 1.75, dash: [12, 3, 2, 3], head: 'square' },
  probe: { width: 1.25, dash: [1, 4], head: 'open' },
};

/** @param {Palette} colours @param {Kind} kind */
export const colourOf = (colours, kind) => (kind === 'probe' ? colours['ink-soft'] : colours[kind]);

/** How the lines of several senders differ: never by colour alone. @type {{colour: 'flow-1'|'flow-2'|'flow-3', dash: number[]}[]} */
export const FLOWS = [{ colour: 'flow-1', dash: [] }, { colour: 'flow-2', dash: [6, 4] }, { colour: 'flow-3', dash: [2, 3] }];

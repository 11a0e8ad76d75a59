/** Colours and strokes of the picture, taken from the style sheet. */
import { inks } from '#lab/theme.js';

/** @import { HeadShape } from '../ladder/draw.js' */
/** @import { Kind } from './words.js' */

const NAMES = /** @type {const} */ (['ink', 'ink-soft', 'line', 'line-strong', 'surface', 'sunken', 'paper', 'accent', 'knock', 'answer', 'choose', 'place', 'data', 'relay', 'lost', 'mapped', 'direct', 'none']);

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
  knock: { width: 2.25, dash: [], head: 'full' },
  answer: { width: 1.75, dash: [], head: 'open' },
  choose: { width: 2, dash: [12, 3, 2, 3], head: 'square' },
  place: { width: 1.25, dash: [2, 4], head: 'open' },
  data: { width: 1.5, dash: [], head: 'double' },
  relay: { width: 1.5, dash: [9, 3], head: 'double' },
};

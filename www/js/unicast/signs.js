/** The signs of the unicast, explained: below the picture, and in the sheet of keys. */
import { el, svg } from '#lab/dom.js';
import { t } from '#lab/strings.js';
import { STROKES } from '#lab/unicast/look.js';

/** @import { Kind } from './words.js' */
/** @typedef {Kind|'lost'|'task'|'acted'} Sign */

const KINDS = /** @type {Kind[]} */ (['data', 'again', 'ack', 'want', 'close']);
/** Heads as paths, with the tip at 38, 6. */
const HEADS = { full: 'M29 1.5 38 6l-9 4.5z', double: 'M29 1.5 38 6l-9 4.5zM21 1.5 30 6l-9 4.5z', open: '', diamond: 'M28 6l5-4.5L38 6l-5 4.5z', square: 'M30 2h8v8h-8z', none: '' };

/** A small picture of a sign; the style sheet colours it as it colours the unicast. @param {Sign} kind */
function sample(kind) {
  const picture = svg('svg', { viewBox: '0 0 40 12', class: 'sample', 'data-kind': kind, 'aria-hidden': 'true' });
  if (kind === 'task' || kind === 'acted') {
    picture.append(svg('path', { d: 'M20 0v12', class: 'life' }), svg('circle', { cx: 20, cy: 6, r: 3.5, class: kind === 'acted' ? 'full' : 'hollow' }));
    return picture;
  }
  const { dash, width, head } = STROKES[kind === 'lost' ? 'data' : kind];
  picture.append(svg('path', { d: kind === 'lost' ? 'M1 6h20' : 'M1 6h35', 'stroke-width': width, 'stroke-dasharray': dash.join(' ') || 'none' }));
  if (kind === 'lost') picture.append(svg('path', { d: 'm17 2 8 8m0-8-8 8', class: 'cross' }));
  else if (head === 'open') picture.append(svg('path', { d: 'm30 2 8 4-8 4', 'stroke-width': width }));
  else picture.append(svg('path', { d: HEADS[head], class: 'full' }));
  return picture;
}

/** @param {Sign} kind */
const sign = (kind) => el('li', {}, sample(kind), t(`sign.${kind}`));

/** A line below the picture. */
export const legend = () => el('ul', { class: 'unicast-legend', 'aria-label': t('keys.signs') }, ...KINDS.map(sign), sign('lost'), sign('acted'));

/** All of them, with words, for the sheet of keys. */
export const signs = () => [
  el('ul', { class: 'signs' }, ...[...KINDS, /** @type {const} */ ('probe'), /** @type {const} */ ('lost'), /** @type {const} */ ('task'), /** @type {const} */ ('acted')].map(sign)),
  el('p', { text: t('signs.margins') }),
  el('p', { text: t('signs.conditions') }),
];

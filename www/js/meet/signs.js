/** The signs of the picture, explained: below it, and in the sheet of keys. */
import { el, svg } from '#lab/dom.js';
import { t } from '#lab/strings.js';
import { STROKES } from '#lab/meet/look.js';

/** @import { Kind } from './words.js' */
/** @typedef {Kind|'dropped'|'mapped'|'expired'|'came'|'found'|'alone'|'router'|'direct'|'relayed'|'none'} Sign */

/** Heads as paths, with the tip at 38, 6. */
const HEADS = { full: 'M29 1.5 38 6l-9 4.5z', double: 'M29 1.5 38 6l-9 4.5zM21 1.5 30 6l-9 4.5z', open: '', diamond: '', square: 'M30 2h8v8h-8z', none: '' };

/** Lines and what stands on them, as shapes. @type {Record<string, [string, Record<string, string|number>][]>} */
const SHAPES = {
  mapped: [['path', { d: 'M17 0v12m6-12v12', class: 'life' }], ['rect', { x: 15.5, y: 2, width: 9, height: 9, class: 'full' }]],
  expired: [['path', { d: 'M17 0v12m6-12v12', class: 'life' }], ['rect', { x: 15.5, y: 2, width: 9, height: 9, class: 'hollow' }]],
  came: [['path', { d: 'M20 0v12', class: 'life' }], ['circle', { cx: 20, cy: 6, r: 4.5, class: 'hollow' }]],
  found: [['path', { d: 'M20 0v12', class: 'life' }], ['circle', { cx: 20, cy: 6, r: 5, class: 'full' }]],
  alone: [['path', { d: 'M20 0v12', class: 'life' }], ['circle', { cx: 20, cy: 6, r: 5, class: 'full' }]],
  router: [['path', { d: 'M17 0v12m6-12v12', class: 'life' }]],
  direct: [['rect', { x: 17, y: 0, width: 6, height: 12, class: 'full' }]],
  relayed: [['rect', { x: 17, y: 0, width: 6, height: 5, class: 'full' }], ['rect', { x: 17, y: 7, width: 6, height: 5, class: 'full' }]],
  none: [['rect', { x: 19, y: 0, width: 2, height: 12, class: 'full' }]],
};

/** A small picture of a sign; the style sheet colours it as it colours the picture. @param {Sign} kind */
function sample(kind) {
  const picture = svg('svg', { viewBox: '0 0 40 12', class: 'sample meet-sample', 'data-kind': kind, 'aria-hidden': 'true' });
  if (SHAPES[kind]) {
    picture.append(...SHAPES[kind].map(([tag, attributes]) => svg(tag, attributes)));
    return picture;
  }
  const { dash, width, head } = STROKES[/** @type {Kind} */ (kind === 'dropped' ? 'knock' : kind)];
  picture.append(svg('path', { d: kind === 'dropped' ? 'M1 6h22' : 'M1 6h35', 'stroke-width': width, 'stroke-dasharray': dash.join(' ') || 'none' }));
  if (kind === 'dropped') picture.append(svg('path', { d: 'm19 2 8 8m0-8-8 8', class: 'cross' }));
  else if (head === 'open') picture.append(svg('path', { d: 'm30 2 8 4-8 4', 'stroke-width': width }));
  else picture.append(svg('path', { d: HEADS[head], class: 'full' }));
  return picture;
}

/** @param {Sign} kind */
const sign = (kind) => el('li', {}, sample(kind), t(`sign.${kind}`));

const LINE = /** @type {Sign[]} */ (['knock', 'dropped', 'answer', 'choose', 'data', 'relay', 'place', 'mapped']);
/** Every sign that is drawn. */
export const SIGNS = /** @type {Sign[]} */ ([...LINE, 'expired', 'router', 'came', 'found', 'alone', 'direct', 'relayed', 'none']);

/** A line below the picture. */
export const legend = () => el('ul', { class: 'meet-legend', 'aria-label': t('keys.signs') }, ...LINE.map(sign));

/** All of them, with words, for the sheet of keys. */
export const signs = () => [el('ul', { class: 'signs' }, ...SIGNS.map(sign)), el('p', { text: t('signs.walls') })];

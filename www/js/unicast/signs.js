/** The signs of the unicast, explained: below the picture, and in the sheet of keys. */
import { el, svg } from '#lab/dom.js';
import { t } from '#lab/strings.js';
import { FLOWS, STROKES } from '#lab/unicast/look.js';

/** @import { Kind } from './words.js' */

const KINDS = /** @type {Kind[]} */ (['data', 'again', 'ack', 'want', 'close']);
/** On the line of a node, and beside it. */
const MARKS = ['task', 'acted', 'opened', 'closed', 'crashed', 'rejected', 'down', 'bracket'];
/** In the margins: the numbers of both ends, or what controls how fast it is sent. */
const MARGINS = ['ha', 'hs', 'waits', 'taken', 'rate', 'window', 'queued', 'full'];
/** Every sign that is drawn. */
export const SIGNS = [...KINDS, 'probe', 'lost', 'guessed', ...MARKS, ...MARGINS, 'flows'];
/** Heads as paths, with the tip at 38, 6. */
const HEADS = { full: 'M29 1.5 38 6l-9 4.5z', double: 'M29 1.5 38 6l-9 4.5zM21 1.5 30 6l-9 4.5z', open: '', diamond: 'M28 6l5-4.5L38 6l-5 4.5z', square: 'M30 2h8v8h-8z', none: '' };

/** @typedef {[string, Record<string, string|number>][]} Shapes */
const BOX = { y: 0, height: 12 };
const LIFE = { d: 'M20 0v12', class: 'life' };
const SQUARE = { x: 16, y: 2, width: 8, height: 8, 'stroke-width': 2, stroke: 'var(--ink)' };
const RING = { cx: 20, cy: 6, r: 3.5 };

/** What is no arrow, as shapes. @type {Record<string, Shapes>} */
const SHAPES = {
  task: [['path', LIFE], ['circle', { ...RING, class: 'hollow' }]],
  acted: [['path', LIFE], ['circle', { ...RING, class: 'full' }]],
  opened: [['path', LIFE], ['rect', { ...SQUARE, fill: 'var(--paper)' }]],
  closed: [['path', LIFE], ['rect', { ...SQUARE, fill: 'var(--ink)' }]],
  crashed: [['path', LIFE], ['path', { d: 'm15 1 10 10m0-10-10 10', class: 'cross' }]],
  rejected: [['path', LIFE], ['circle', { ...RING, class: 'hollow' }], ['path', { d: 'm17.5 8.5 5-5' }]],
  down: [['line', { x1: 20, y1: 0, x2: 20, y2: 12, stroke: 'var(--lost)', 'stroke-dasharray': '2 3' }]],
  bracket: [['path', LIFE], ['path', { d: 'M24 1h5v10h-5' }]],
  ha: [['rect', { ...BOX, x: 4, width: 18, fill: 'var(--taken)' }], ['rect', { ...BOX, x: 22, width: 12, fill: 'var(--held-wash)' }], ['rect', { ...BOX, x: 21, width: 2.5, fill: 'var(--ack)' }]],
  hs: [['rect', { ...BOX, x: 4, width: 10, fill: 'var(--taken)' }], ['rect', { ...BOX, x: 14, width: 18, fill: 'var(--held-wash)' }], ['rect', { ...BOX, x: 31, width: 2.5, fill: 'var(--data)' }]],
  waits: [['rect', { ...BOX, x: 16, width: 9, fill: 'var(--held-wash)' }], ...[1, 5, 9].map((y) => /** @type {Shapes[number]} */ (['rect', { x: 16, y, width: 9, height: 1.5, fill: 'var(--held)' }]))],
  taken: [['rect', { ...BOX, x: 16, width: 9, fill: 'var(--taken)' }], ['rect', { x: 16, y: 0, width: 9, height: 2, fill: 'var(--ack)' }]],
  rate: [['line', { x1: 12, y1: 0, x2: 28, y2: 12, stroke: 'var(--data)', 'stroke-width': 2 }]],
  window: [['line', { x1: 12, y1: 0, x2: 28, y2: 12, stroke: 'var(--held)', 'stroke-width': 1.25 }]],
  queued: [['rect', { x: 4, y: 1, width: 12, height: 4, fill: 'var(--held)' }], ['rect', { x: 4, y: 7, width: 20, height: 4, fill: 'var(--held)' }]],
  full: [['rect', { x: 4, y: 4, width: 32, height: 4, fill: 'var(--lost)' }]],
  flows: FLOWS.map(({ colour, dash }, i) => ['line', { x1: 4, y1: 2 + 4 * i, x2: 36, y2: 2 + 4 * i, stroke: `var(--${colour})`, 'stroke-width': 2, 'stroke-dasharray': dash.join(' ') || 'none' }]),
};

/** A small picture of a sign; the style sheet colours it as it colours the unicast. @param {string} kind */
function sample(kind) {
  const picture = svg('svg', { viewBox: '0 0 40 12', class: 'sample', 'data-kind': kind, 'aria-hidden': 'true' });
  if (SHAPES[kind]) {
    picture.append(...SHAPES[kind].map(([tag, attributes]) => svg(tag, attributes)));
    return picture;
  }
  const { dash, width, head } = STROKES[/** @type {Kind} */ (kind === 'lost' || kind === 'guessed' ? 'data' : kind)];
  const dashes = kind === 'guessed' ? [2, 5] : dash;
  picture.append(svg('path', { d: kind === 'lost' ? 'M1 6h20' : 'M1 6h35', 'stroke-width': width, 'stroke-dasharray': dashes.join(' ') || 'none' }));
  if (kind === 'lost') picture.append(svg('path', { d: 'm17 2 8 8m0-8-8 8', class: 'cross' }));
  else if (head === 'open') picture.append(svg('path', { d: 'm30 2 8 4-8 4', 'stroke-width': width }));
  else picture.append(svg('path', { d: HEADS[head], class: 'full' }));
  return picture;
}

/** @param {string} kind */
const sign = (kind) => el('li', {}, sample(kind), t(`sign.${kind}`));

/** A line below the picture. */
export const legend = () => el('ul', { class: 'unicast-legend', 'aria-label': t('keys.signs') }, ...[...KINDS, 'lost', 'acted'].map(sign));

/** All of them, with words, for the sheet of keys. */
export const signs = () => [
  el('ul', { class: 'signs' }, ...SIGNS.map(sign)),
  el('p', { text: t('signs.margins') }),
  el('p', { text: t('signs.conditions') }),
  el('p', { text: t('signs.flows') }),
];

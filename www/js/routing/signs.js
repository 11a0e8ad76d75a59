/** The signs of the network, explained: below the picture, and in the sheet of keys. */
import { el, svg } from '#lab/dom.js';
import { known, t } from '#lab/strings.js';

/** Paths in a box of 24 by 12; those with a stroke are lines. @type {Record<string, string>} */
const PATHS = {
  query: 'M19 6 9 11.5 11 6 9 .5z', hit: 'M5 6l7-5 7 5-7 5z', push: 'M7.5 1.5h9v9h-9z', ping: 'M12 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9z',
  pong: 'M12 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zm0 2.6a1.9 1.9 0 1 0 0 3.8 1.9 1.9 0 0 0 0-3.8z',
  bye: 'M12 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9z', other: 'M12 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9z',
  lost: 'm7.5 1.5 9 9m0-9-9 9', tree: 'M1 6h22', twice: 'M1 6h22', back: 'M2 6h20', pushed: 'M2 6h20', dead: 'M1 6h22', cut: 'M1 6h22',
};
const LINES = ['lost', 'tree', 'twice', 'back', 'pushed', 'dead', 'cut'];
/** Nodes, by what they do. */
const ROLES = ['asks', 'shares', 'reached', 'floods', 'twin', 'down', 'closed'];
/** Every sign that is drawn. */
export const SIGNS = ['query', 'hit', 'push', 'ping', 'pong', 'bye', 'other', ...LINES, ...ROLES];

/** A small picture of a sign. @param {string} kind */
function sample(kind) {
  const picture = svg('svg', { viewBox: '0 0 24 12', class: 'routing-sample', 'data-kind': kind, 'aria-hidden': 'true' });
  const add = (/** @type {string} */ tag, /** @type {Record<string, string|number>} */ attributes) => picture.append(svg(tag, attributes));
  if (PATHS[kind]) add('path', { d: PATHS[kind], class: LINES.includes(kind) ? 'line' : 'full', 'fill-rule': 'evenodd' });
  if (kind === 'cut') add('path', { d: 'M11 1 8 11m8-10-3 10', class: 'across' });
  if (PATHS[kind]) return picture;
  if (kind === 'floods') add('path', { d: 'M12 0l1.6 3.2 3.6-.4-2 3.2 2 3.2-3.6-.4L12 12l-1.6-3.2-3.6.4 2-3.2-2-3.2 3.6.4z', class: 'full' });
  else {
    add('circle', { cx: 12, cy: 6, r: 3, class: 'node' });
    if (kind === 'reached') add('circle', { cx: 12, cy: 6, r: 1.7, class: 'full' });
    if (kind === 'asks') add('circle', { cx: 12, cy: 6, r: 5.2, class: 'round' });
    if (kind === 'closed') add('path', { d: 'M8-.5h8M8 12.5h8M5.5 2v8M18.5 2v8', class: 'wall' });
    if (kind === 'shares' || kind === 'twin') add('rect', { x: 7, y: 1, width: 10, height: 10, rx: 2, class: 'round' });
    if (kind === 'twin') add('rect', { x: 5, y: -1, width: 10, height: 10, rx: 2, class: 'round' });
  }
  return picture;
}

/** @param {string} kind */
const sign = (kind) => el('li', {}, sample(kind), t(`sign.${kind}`));

/** A line below the picture; what marks a node is said shorter there. */
export const legend = () => el('ul', { class: 'routing-legend', 'aria-label': t('keys.signs') }, ...['asks', 'shares', 'query', 'hit', 'push', 'ping', 'lost', 'tree', 'twice', 'back'].map((kind) => el('li', {}, sample(kind), t(known(`legend.${kind}`) ? `legend.${kind}` : `sign.${kind}`))));

/** All of them, with words, for the sheet of keys. */
export const signs = () => [
  el('ul', { class: 'signs' }, ...SIGNS.map(sign)),
  el('p', { text: t('signs.routing') }),
];

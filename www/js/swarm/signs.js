/** The signs of the swarm, explained: below the picture, and in the sheet of keys. */
import { el } from '#lab/dom.js';
import { t } from '#lab/strings.js';

const CELLS = /** @type {const} */ (['missing', 'flight', 'held', 'seed', 'bad']);
const CLIENTS = /** @type {const} */ (['active', 'passive', 'walled', 'ratio', 'stalled']);

/** @param {string} kind */
const sign = (kind) => el('li', {}, el('i', { class: 'cell-sign', data: { kind }, 'aria-hidden': 'true' }), t(`sign.${kind}`));

/** A line below the picture. */
export const legend = () => el('ul', { class: 'swarm-legend', 'aria-label': t('keys.signs') }, ...[...CELLS, ...CLIENTS].filter((kind) => kind !== 'walled').map(sign));

/** All of them, with words, for the sheet of keys. */
export const signs = () => [el('ul', { class: 'signs' }, ...[...CELLS, ...CLIENTS].map(sign)), el('p', { text: t('signs.swarm') })];

/** The signs of the swarm, explained: below the picture, and in the sheet of keys. */
import { el } from '#lab/dom.js';
import { known, t } from '#lab/strings.js';

const CELLS = ['missing', 'flight', 'held', 'seed', 'bad'];
const CLIENTS = ['active', 'passive', 'ratio', 'stalled'];
/** Every sign that is drawn: cells and clients, what stands above the columns, arcs, and the curve. */
export const SIGNS = [...CELLS, 'failed', ...CLIENTS, 'walled', 'liar', 'origin', 'copies', 'rarest', 'arc', 'bound', 'done', 'wasted'];
/** What the chart calls them. @type {Record<string, string>} */
const CURVES = { bound: 'chart.bound', done: 'chart.held', wasted: 'chart.lost' };

/** @param {string} kind */
const sign = (kind) => el('li', {}, el('i', { class: 'cell-sign', data: { kind }, 'aria-hidden': 'true', text: kind === 'liar' ? '⚠' : '' }), t(known(`sign.${kind}`) ? `sign.${kind}` : CURVES[kind]));

/** A line below the picture. */
export const legend = () => el('ul', { class: 'swarm-legend', 'aria-label': t('keys.signs') }, ...[...CELLS, ...CLIENTS].map(sign));

/** All of them, with words, for the sheet of keys. */
export const signs = () => [el('ul', { class: 'signs' }, ...SIGNS.map(sign)), el('p', { text: t('signs.swarm') })];

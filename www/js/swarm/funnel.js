/** How a transfer was chosen: what each clause left over, from what was needed to which peer was asked. */
import { el } from '#lab/dom.js';
import { count } from '#lab/format.js';
import { clauseButton } from '#lab/panels/clause.js';
import { known, t } from '#lab/strings.js';
import { nameOf } from '#lab/swarm/words.js';

/** @import { SwarmRun } from './run.js' */

/** The rule of a step, behind its number. @param {string} text @param {string} why @param {{id: string, clause: string}} rule */
const rule = (text, why, { id, clause }) => el('details', {}, el('summary', {}, el('span', { text }), el('code', { text: id })),
  el('p', {}, known(why) ? t(why) : '', clauseButton(id, clause)));

/** @param {SwarmRun} run @param {import('./run.js').Chosen} funnel */
export function funnelOf(run, { steps, chosen, giver, taker, piece, led }) {
  // Each bar is as wide as what is left; the two ends count pieces, the middle clients.
  const most = Math.max(1, ...steps.map((s) => s.count));
  const rows = steps.map(({ key, count: left, ...clause }) => el('li', { data: { step: key } },
    el('span', { class: 'bar', 'aria-hidden': 'true' }, sized(left / most)),
    el('b', { text: count(left) }),
    rule(t(`funnel.${key}`, { n: left }), `funnel.${key}.why`, clause)));
  const last = el('li', { class: 'chosen', data: { step: chosen.key } }, el('b', { 'aria-hidden': 'true', text: '→' }),
    rule(t(`chosen.${chosen.key}`, { name: nameOf(run, giver), piece }), `chosen.${chosen.key}.why`, chosen));
  return el('section', { class: 'funnel', 'aria-label': t('funnel.title') }, el('h4', { text: t('funnel.title') }), el('ol', {}, ...rows, last),
    el('p', { class: 'led', text: t(`funnel.led.${led}`, { giver: nameOf(run, giver), taker: nameOf(run, taker) }) }));
}

/** @param {number} share */
function sized(share) {
  const node = el('i', {});
  node.style.inlineSize = `${Math.max(share > 0 ? 4 : 0, share * 100)}%`;
  return node;
}

/** Those who are not on the board: the served, the refused, those still away. */
import { el, icon, setText } from '../dom.js';
import { t } from '../strings.js';

/** @import * as T from '../types' */

/** Chips of one kind; the rest is a number. */
const CHIPS = 14;

export class Tray {
  constructor() {
    this.done = el('ul', {});
    this.doneMore = el('span', {});
    this.none = el('span', { text: t('board.none.done') });
    this.away = el('ul', {});
    this.awayMore = el('span', {});
    this.awayHead = el('strong', { text: t('board.elsewhere') });
    const sign = (/** @type {string} */ kind) => el('span', {}, el('span', { class: 'bar', 'aria-hidden': 'true' }, el('span', { class: kind })), t(`board.legend.${kind}`));
    this.node = el('footer', { class: 'tray' },
      el('strong', { text: t('board.tray') }), this.none, this.done, this.doneMore,
      this.awayHead, this.away, this.awayMore,
      el('span', { class: 'legend' }, sign('early'), sign('open'), sign('lost')));
    this.shape = '';
  }

  /**
   * @param {T.Board} board
   * @param {Set<string>} present addresses on the board
   * @param {number|null} selected
   */
  update(board, present, selected) {
    const served = board.done ?? board.clients.filter((c) => c.fetch?.state === 'done');
    const away = board.clients.filter((c) => c.fetch && c.fetch.state !== 'done' && !present.has(c.peer));
    const doneCount = board.tally?.done ?? served.length;
    const shape = `${doneCount}|${served.length}|${selected}|${away.map((c) => `${c.node}${c.fetch?.state}`).join()}`;
    if (shape === this.shape) return;
    this.shape = shape;
    this.none.hidden = doneCount > 0;
    this.done.replaceChildren(...served.slice(-CHIPS).map((c) => chip(c.node, c.name, 'done', selected)));
    more(this.doneMore, doneCount - Math.min(CHIPS, served.length));
    this.awayHead.hidden = away.length === 0;
    this.away.replaceChildren(...away.slice(0, CHIPS).map((c) => chip(c.node, c.name, stateOf(c), selected)));
    more(this.awayMore, away.length - CHIPS);
  }
}

/** @param {Node} node @param {number} n */
function more(node, n) {
  setText(node, n > 0 ? t('board.more', { n }) : '');
}

/** @param {T.ClientView} client */
function stateOf(client) {
  const source = client.fetch?.sources[0];
  if (client.fetch && client.fetch.state !== 'running') return 'failed';
  return source?.state === 'lost' || source?.state === 'waiting' ? 'lost' : 'away';
}

const SIGNS = /** @type {Record<string, string>} */ ({ done: 'check', failed: 'cross', lost: 'cut', away: 'moon' });

/** @param {number} node @param {string} name @param {string} state @param {number|null} selected */
function chip(node, name, state, selected) {
  const button = el('button', { class: 'chip', type: 'button', data: { node: String(node), state }, title: t(`client.${state}`) },
    icon(SIGNS[state]), name, el('span', { class: 'quiet', text: `, ${t(`client.${state}`)}` }));
  if (selected === node) button.dataset.selected = '';
  return el('li', {}, button);
}

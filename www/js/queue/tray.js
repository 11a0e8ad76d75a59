/** Those who are not in the queue: the served by name, the rest as numbers. */
import { el, icon, setText } from '#lab/dom.js';
import { t } from '#lab/strings.js';

/** @import * as T from '../types' */

/** Names that are shown; the rest is a number. */
const CHIPS = 6;

const ELSEWHERE = /** @type {const} */ (['absent', 'waiting', 'failed']);

export class Tray {
  constructor() {
    this.head = el('strong', { text: t('queue.tray') });
    this.done = el('ul', {});
    this.more = el('span', {});
    this.none = el('span', { text: t('queue.none.done') });
    this.rest = el('span', { class: 'rest' });
    const sign = (/** @type {string} */ kind) => el('span', {}, el('span', { class: 'bar', 'aria-hidden': 'true' }, el('span', { class: kind })), t(`queue.legend.${kind}`));
    // On a phone it scrolls sideways, for keys too.
    this.node = el('div', { class: 'tray', tabindex: '0', role: 'group', 'aria-label': t('queue.tray') },
      this.head, this.none, this.done, this.more, this.rest,
      el('span', { class: 'legend' }, sign('early'), sign('open'), sign('lost')));
    this.shape = '';
  }

  /** A whole world: who has the file, and who is elsewhere. @param {T.QueueState} state @param {number|null} selected */
  update(state, selected) {
    const shape = `${state.tally.done}|${state.done.at(-1)?.node}|${selected}`;
    if (shape !== this.shape) {
      this.shape = shape;
      const names = state.done.slice(-CHIPS);
      const hidden = state.tally.done - names.length;
      this.none.hidden = state.tally.done > 0;
      this.head.hidden = false;
      setText(this.head, t('queue.tray'));
      this.done.replaceChildren(...names.map((c) => chip(c.node, c.name, selected)));
      setText(this.more, hidden > 0 ? t('queue.more', { n: hidden }) : '');
    }
    setText(this.rest, ELSEWHERE.filter((key) => state.tally[key] > 0).map((key) => t(`queue.tally.${key}`, { n: state.tally[key] })).join(' · '));
  }

  /** One servent: what it downloads itself. @param {T.FetchView[]} fetches */
  downloads(fetches) {
    const shape = JSON.stringify(fetches.map((f) => [f.name, f.have, f.state]));
    if (shape === this.shape) return;
    this.shape = shape;
    const [shown, hidden] = [fetches.slice(-CHIPS), Math.max(0, fetches.length - CHIPS)];
    this.head.hidden = fetches.length === 0;
    this.none.hidden = true;
    setText(this.head, t('queue.downloads'));
    this.done.replaceChildren(...shown.map((f) => el('li', {}, el('span', { class: 'chip', data: { state: f.state } }, f.state === 'done' ? icon('check') : null, t('queue.download', { ...f })))));
    setText(this.more, hidden > 0 ? t('queue.more', { n: hidden }) : '');
    setText(this.rest, '');
  }
}

/** @param {number} node @param {string} name @param {number|null} selected */
function chip(node, name, selected) {
  return el('li', {}, el('button', { class: 'chip', type: 'button', data: { node: String(node), state: 'done', ...(selected === node ? { selected: '' } : {}) }, title: t('queue.tray.done') },
    icon('check'), name, el('span', { class: 'quiet', text: `, ${t('queue.tray.done')}` })));
}

/** The two kinds of cards of the board: somebody in line, somebody in a slot. */
import { el, icon, setAttr, setText } from '../dom.js';
import { bytes, count, span } from '../format.js';
import { t } from '../strings.js';

/** @import * as T from '../types' */

/** How much of the bar lies beyond the deadline. */
const BEYOND = 0.14;

/** @param {T.DialectName} dialect */
export function badge(dialect) {
  const node = el('span', { class: 'badge', data: { dialect }, title: t(`dialect.${dialect}.long`) });
  node.append(icon(dialect), t(`dialect.${dialect}`));
  return node;
}

/**
 * What all cards share: the frame, the button that selects, the menu button.
 * The board listens for clicks; a card only carries its key.
 */
class BaseCard {
  /** @param {string} key @param {string} kind */
  constructor(key, kind) {
    this.key = key;
    this.name = '';
    this.place = el('span', { class: 'place' });
    this.title = el('span', { class: 'name' });
    this.badge = el('span');
    this.state = el('span', { class: 'state' }, el('span'), el('span'));
    this.main = el('button', { class: 'card-main', type: 'button', tabindex: '-1', 'aria-pressed': 'false' }, this.place, this.title, this.badge);
    this.menu = el('button', { class: 'card-menu button plain small icon', type: 'button', tabindex: '-1', 'aria-haspopup': 'menu' }, icon('more'));
    this.node = el('li', { class: `card ${kind}`, data: { key } }, this.main, this.menu);
    this.dialect = '';
    this.top = -1;
  }
  /** @param {string} name @param {T.DialectName} dialect */
  who(name, dialect) {
    if (name !== this.name) {
      this.name = name;
      setText(this.title, name);
      setAttr(this.menu, 'aria-label', t('card.menu', { name }));
    }
    if (dialect !== this.dialect) {
      this.dialect = dialect;
      const fresh = badge(dialect);
      this.badge.replaceWith(fresh);
      this.badge = fresh;
    }
  }
  /** @param {string} left @param {string} right */
  says(left, right) {
    setText(/** @type {Node} */ (this.state.firstChild), left);
    setText(/** @type {Node} */ (this.state.lastChild), right);
  }
  /** @param {boolean} on */
  selected(on) {
    setAttr(this.node, 'data-selected', on ? '' : null);
    setAttr(this.main, 'aria-pressed', String(on));
  }
  /** @param {number} row @param {number} height */
  at(row, height) {
    if (row * height === this.top) return;
    this.top = row * height;
    this.node.style.setProperty('--y', `${this.top}px`);
  }
}

/** Somebody in line. */
export class WaitCard extends BaseCard {
  /** @param {string} key */
  constructor(key) {
    super(key, 'wait-card');
    this.early = el('span', { class: 'early' });
    this.open = el('span', { class: 'open' });
    this.mark = el('span', { class: 'now' });
    this.bar = el('span', { class: 'bar', 'aria-hidden': 'true' }, this.early, this.open, el('span', { class: 'lost' }), this.mark);
    this.main.append(this.bar, this.state);
    this.shape = '';
  }
  /** @param {T.Card} card @param {string} name @param {number} now */
  update(card, name, now) {
    this.who(name, card.dialect);
    setText(this.place, count(card.position));
    setAttr(this.node, 'data-wire', card.present ? 'kept' : 'cut');
    const start = card.told_at || card.not_before;
    const whole = Math.max(1, card.deadline - start) / (1 - BEYOND);
    const shape = `${start}/${card.not_before}/${card.deadline}`;
    if (shape !== this.shape) {
      this.shape = shape;
      this.early.style.width = `${(Math.max(0, card.not_before - start) / whole) * 100}%`;
      this.open.style.width = `${(Math.max(0, card.deadline - card.not_before) / whole) * 100}%`;
    }
    this.mark.style.setProperty('--now', `${Math.min(1, Math.max(0, (now - start) / whole)) * 100}%`);
    const phase = now < card.not_before ? 'early' : now <= card.deadline ? 'open' : 'lost';
    setAttr(this.state, 'data-phase', phase);
    const left = phase === 'early' ? card.not_before - now : card.deadline - now;
    this.says(t(`card.${phase}`, { left }), card.eta === null ? '' : t('card.eta', { eta: card.eta }));
  }
}

/** Somebody in a slot. */
export class SendCard extends BaseCard {
  /** @param {string} key */
  constructor(key) {
    super(key, 'slot-card');
    this.place.append(icon('upload'));
    this.done = el('span', { class: 'bar progress', 'aria-hidden': 'true' });
    this.main.append(this.done, this.state);
  }
  /** @param {T.SlotCard} card @param {string} name @param {number} now */
  update(card, name, now) {
    this.who(name, card.dialect);
    const size = Math.max(1, card.end - card.start);
    const held = card.reserved_until !== null;
    setAttr(this.node, 'data-reserved', held ? '' : null);
    setAttr(this.node, 'data-wire', held ? 'cut' : 'kept');
    this.done.style.setProperty('--done', String(Math.min(1, card.sent / size)));
    if (held) this.says(t('slot.held', { left: Number(card.reserved_until) - now }), '');
    else {
      const rate = card.sent / Math.max(1e-6, (now - card.since) / 1e6);
      this.says(t('slot.sent', { sent: card.sent, size: card.end - card.start }), card.sent ? `${bytes(Math.round(rate))}/s` : span(now - card.since));
    }
  }
}

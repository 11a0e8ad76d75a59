/** The cards of the queue: a client in line, a client in a slot, a free slot. */
import { el, icon, setAttr, setText } from '#lab/dom.js';
import { count, span } from '#lab/format.js';
import { t } from '#lab/strings.js';

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
 * The picture listens for clicks; a card only carries its key.
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
  /** Not what is looked for. @param {boolean} on */
  pale(on) { setAttr(this.node, 'data-pale', on ? '' : null); }
  /** @param {number} row @param {number} height */
  at(row, height) {
    if (row * height === this.top) return;
    this.top = row * height;
    this.node.style.setProperty('--y', `${this.top}px`);
  }
}

/** A client in line. */
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
  /** @param {T.Card} card @param {string} name @param {number} now @param {T.ReservedSlot|undefined} kept the free slot that is kept for it */
  update(card, name, now, kept) {
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
    this.says(t(`card.${phase}`, { left }), kept ? t(now < kept.open_at ? 'card.kept' : 'card.first') : outlook(card, phase, left));
  }
}

/**
 * When a slot may come. The estimate counts the bytes ahead alone; no client gets
 * a slot before it may ask, so what can be said is the later of the two.
 * @param {T.Card} card @param {string} phase @param {number} left until it may ask
 */
function outlook(card, phase, left) {
  if (card.eta === null || phase === 'lost') return '';
  const eta = card.eta * 1e6;
  if (phase === 'early') return eta > left ? t('card.eta', { eta }) : t('card.least', { left });
  return eta > 0 ? t('card.eta', { eta }) : t('card.soon');
}

/** Shorter than this a rate is a guess, in microseconds. */
const SAMPLE = 500_000;
/** A sample that is older is begun anew. */
const STALE = 20_000_000;

/** How fast a transfer goes, from two looks at it. */
class Pace {
  /** @type {{at: number, sent: number, start: number}|null} */ #from = null;
  #rate = 0;
  /** Bytes a second, or 0 when nothing can be said. @param {T.SlotCard} card @param {number} now */
  of(card, now) {
    const from = this.#from;
    if (!from || from.start !== card.start || now < from.at || card.sent < from.sent || now - from.at > STALE) {
      this.#from = { at: now, sent: card.sent, start: card.start };
      if (from?.start !== card.start) this.#rate = 0;
    } else if (now - from.at >= SAMPLE && card.sent > from.sent) {
      this.#rate = (card.sent - from.sent) / ((now - from.at) / 1e6);
      if (now - from.at > STALE / 2) this.#from = { at: now, sent: card.sent, start: card.start };
    }
    return this.#rate;
  }
}

/** A client in a slot. */
export class SendCard extends BaseCard {
  /** @param {string} key */
  constructor(key) {
    super(key, 'slot-card');
    this.place.append(icon('upload'));
    this.pace = new Pace();
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
    // Between two parts nothing is on its way out.
    else if (card.end === card.start) this.says(t('slot.between'), span(now - card.since));
    else {
      const rate = this.pace.of(card, now);
      const left = rate > 0 ? t('slot.left', { left: ((size - card.sent) / rate) * 1e6 }) : '';
      this.says(t('slot.sent', { sent: card.sent, size }), left);
      setAttr(this.node, 'title', rate > 0 ? t('slot.rate', { rate }) : null);
    }
  }
}

/** A free slot: for any client, or kept for one that has not asked yet. */
export class FreeSlot {
  constructor() {
    this.free = el('span', { class: 'name' });
    this.title = el('span', { class: 'name' });
    this.state = el('span', { class: 'state' });
    this.main = el('button', { class: 'card-main', type: 'button', tabindex: '-1', hidden: true }, this.title, this.state);
    this.node = el('li', { class: 'slot-frame' }, this.free, this.main);
  }
  /** @param {number} nth @param {T.ReservedSlot|undefined} kept @param {string} name @param {number} now */
  update(nth, kept, name, now) {
    setAttr(this.node, 'data-kept', kept ? kept.ticket : null);
    this.main.hidden = !kept;
    this.free.hidden = Boolean(kept);
    setText(this.free, t('slot.free', { n: nth }));
    if (!kept) return;
    const open = now >= kept.open_at;
    setText(this.title, t('slot.kept', { name }));
    setText(this.state, open ? t('slot.kept.open_to_all') : now < kept.not_before ? t('slot.kept.early', { left: kept.not_before - now }) : t('slot.kept.open', { left: kept.until - now }));
    setAttr(this.main, 'title', t(open ? 'slot.kept.why_open' : 'slot.kept.why', { name }));
  }
}

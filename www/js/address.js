/** The address bar keeps what is looked at, so that a reload leads back to it. */
import { isEmbedded } from '#lab/embed.js';
import { isLocked } from '#lab/lock.js';
import { linkTo } from '#lab/permalink.js';
import { standing } from '#lab/peer/enter.js';

/** @import { Session } from './session/session.js' */

/** It follows what is done so many milliseconds later: browsers bear it only so often. */
const LATER_MS = 400;

export class Address {
  #timer = 0;
  /** What is shown or begun to be written last; what was begun before it comes too late. */
  #turn = 0;
  /** What was written last: at first what has led here. */
  own = location.hash;

  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    for (const type of ['run', 'view', 'faults', 'play', 'select', 'lesson']) session.addEventListener(type, () => this.#soon());
    addEventListener('pagehide', () => this.#now());
  }

  /** A link that was asked for stays until something is done. @param {string} link */
  show(link) {
    clearTimeout(this.#timer);
    this.#turn += 1;
    this.#put(link);
  }

  /** What is looked at, but for the moment: another one is another entry of the browser's history. */
  #place = '';
  /** The browser went there by itself: nothing is added. */
  #followed = false;

  /** The browser's own buttons led to what the address names. */
  arrived() {
    this.own = location.hash;
    this.#followed = true;
  }

  /** Another screen has the address: what is looked at behind it is not written. */
  away = false;

  /** The lab has it again. */
  back() {
    this.away = false;
    this.arrived();
  }

  /** True when one went on to something else, and can come back. The history of another page is not this one's. */
  #moved() {
    const { view, lesson, preset, title, mode, run } = this.session;
    const place = [view.id, mode, lesson ? `${lesson.id}/${lesson.step}` : preset ?? title, run?.kind].join('|');
    const moved = this.#place !== '' && place !== this.#place && !this.#followed && !isLocked() && !isEmbedded();
    this.#place = place;
    this.#followed = false;
    return moved;
  }

  /** @param {string} link @param {boolean} [entry] a new one in the history */
  #put(link, entry = false) {
    if (this.away) return;
    const { hash, state } = link ? { hash: link, state: null } : standing();
    this.own = hash;
    const address = hash || location.pathname + location.search;
    try {
      if (entry && link) history.pushState(null, '', address);
      else history.replaceState(state, '', address);
    } catch {
      // A page that may not have an address of its own has none to keep.
    }
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#write(), LATER_MS);
  }

  /** Writes what is looked at now. */
  keep() {
    clearTimeout(this.#timer);
    return this.#write();
  }

  async #write() {
    const { session } = this;
    const { run } = session;
    if (!run) return;
    const turn = this.#turn += 1;
    const moment = { now: run.now, index: run.index, selected: session.selection.node, proof: [] };
    const link = await linkTo(session, moment);
    // Meanwhile another one may be looked at, which is written in its turn, or a link asked for.
    if (session.run === run && this.#turn === turn) this.#put(link ?? '', this.#moved());
  }

  /** Where the clock stands at the end, which may have gone on since. */
  #now() {
    const { run } = this.session;
    if (!run || !this.own.includes('t=') || this.own.includes('&h=')) return;
    this.show(this.own.replace(/([?&]t=)[^&]*/, `$1${run.now / 1000}`).replace(/([?&]e=)[^&]*/, `$1${run.index}`));
  }
}

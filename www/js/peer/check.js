/** What a room needs of its network, tried by the page itself days before a class comes: what works, what does not, and the way round. */
import { el, setAttr, setText } from '#lab/dom.js';
import { t } from '#lab/strings.js';

/** A line that is not open after so long is not let through, in milliseconds. */
const OPEN_MS = 10_000;
/** Proxies that sever a WebSocket on which little happens do so within a minute. */
const HELD_S = 75;
/** What two pages get from each other, and how often they look for it, in milliseconds. */
const NAME = 'servent-check-';
const LOOK_MS = 3000;

/** @typedef {'waits'|'works'|'fails'} Verdict */

export class CheckPanel {
  #began = Date.now();
  /** When the line was opened, and for how many seconds it was open when it was lost. */
  #opened = 0;
  #severed = -1;
  #looked = 0;
  /** @type {boolean|null} */ #direct = null;
  #rows = /** @type {Record<string, any>} */ ({});

  /** @param {import('#servent').Peer} peer */
  constructor(peer) {
    this.peer = peer;
    // What another page gets of it is the trial.
    const id = crypto.getRandomValues(new Uint32Array(1))[0].toString(36);
    peer.share(new File([id], `${NAME}${id}.txt`));
    const row = (/** @type {string} */ name) => {
      this.#rows[name] = el('li', {}, el('span', { class: 'part-words' }, el('b', { text: t(`check.${name}`) }), el('small')));
      return this.#rows[name];
    };
    this.node = el('section', { class: 'part-check', 'aria-label': t('check.title') }, el('h2', { text: t('check.title') }), el('p', { class: 'host-text', text: t('check.text') }), el('div', { role: 'status' }, el('ul', { class: 'part-list' }, ...['page', 'socket', 'held', 'direct'].map(row))));
  }

  /** Something was found; that of another page is fetched. @param {{name: string, number: number}} hit */
  found({ name, number }) { if (this.#direct === null && name.startsWith(NAME)) this.peer.get(Uint32Array.of(number)); }

  /** Looks at what its servent has come to. @param {{called: boolean, channels: {opened: number}, done: {part: number, name: string}[]}} view */
  look({ called, channels, done }) {
    const now = Date.now();
    if (called) this.#opened ||= now;
    else if (this.#opened && this.#severed < 0) this.#severed = this.#held(now);
    const got = done.filter(({ name }) => name.startsWith(NAME));
    for (const { part } of got) this.peer.forget(part);
    if (channels.opened > 0) this.#direct = true;
    // It has come, and not on a channel: by way of the servent.
    else if (got.length) this.#direct = false;
    if (this.#direct === null && called && now - this.#looked > LOOK_MS) {
      this.#looked = now;
      this.peer.search(NAME.replaceAll('-', ' ').trim());
    }
    this.#show(now);
  }

  /** What the servent of the room is told. */
  about() { return { tried: { held: this.#severed >= 0 ? this.#severed : this.#held(Date.now()), direct: this.#direct } }; }

  /** @param {number} now */
  #held(now) { return this.#opened ? Math.floor((now - this.#opened) / 1000) : 0; }

  /** @param {number} now */
  #show(now) {
    const held = this.#held(now);
    this.#say('page', 'works');
    this.#say('socket', this.#opened ? 'works' : now - this.#began > OPEN_MS ? 'fails' : 'waits');
    this.#say('held', this.#severed >= 0 ? 'fails' : held >= HELD_S ? 'works' : 'waits', { n: this.#severed >= 0 ? this.#severed : held, of: HELD_S });
    this.#say('direct', this.#direct === null ? 'waits' : this.#direct ? 'works' : 'fails');
  }

  /** @param {string} name @param {Verdict} verdict @param {Record<string, number>} [how] */
  #say(name, verdict, how = {}) {
    setAttr(this.#rows[name], 'data-verdict', verdict);
    setText(this.#rows[name].querySelector('small'), t(`check.${name}.${verdict}`, how));
  }
}

/** A running servent's own tape, as it grows. */
import { t } from './strings.js';

/** @import { Session } from './session.js' */

/** What `/api/info` says. @typedef {{name: string, version: string, live: boolean, traces?: string[], servents?: {id: string, name: string}[]}} Info */

/** A tape line is handed on with its neighbours, at most so often, in milliseconds. */
const GATHER_MS = 100;
/** After a lost connection it is tried again after this long; each failure doubles it, up to the last. */
const AGAIN_MS = [1000, 15_000];
const RS = '\x1e';

/** Asks the servent that serves the page, if one does. @returns {Promise<Info|null>} */
export async function info() {
  const api = document.querySelector('meta[name="servent-api"]')?.getAttribute('content');
  if (api !== 'here') return null;
  const answer = await fetch('api/info');
  return answer.ok ? answer.json() : null;
}

/** Follows one servent; the view shows its newest event until the user goes back. */
export class Live {
  /** @type {EventSource|null} */ #stream = null;
  #lines = /** @type {string[]} */ ([]);
  #timer = 0;
  #again = 0;
  #wait = AGAIN_MS[0];
  #begun = false;
  #lost = false;

  /** @param {Session} session */
  constructor(session) { this.session = session; }

  /** @param {Info} about @param {string} [id] of a servent */
  follow(about, id) {
    this.stop();
    this.name = about.servents?.find((s) => s.id === id)?.name ?? about.name;
    this.id = id;
    this.#wait = AGAIN_MS[0];
    this.#open();
  }

  /** Every stream begins with the first line of the tape. */
  #open() {
    const stream = new EventSource(this.id ? `api/tape?servent=${encodeURIComponent(this.id)}` : 'api/tape');
    this.#stream = stream;
    this.#begun = false;
    stream.onmessage = (event) => {
      this.#lines.push(`${RS}${event.data}\n`);
      this.#timer ||= window.setTimeout(() => this.#hand(), GATHER_MS);
    };
    // A stream that reconnects by itself would go on in the middle of ours.
    stream.onerror = () => this.#retry();
  }

  /** The servent is gone or was restarted: what came in stays, until its tape begins again. */
  #retry() {
    this.#close();
    if (!this.#lost) {
      this.#lost = true;
      if (this.session.live) this.session.live.lost = true;
      this.session.notice(t('time.live.lost', { name: this.name }));
      this.session.emit('play');
    }
    this.#again = window.setTimeout(() => this.#open(), this.#wait);
    this.#wait = Math.min(2 * this.#wait, AGAIN_MS[1]);
  }

  /** Hands the gathered lines to the core. */
  #hand() {
    this.#timer = 0;
    const bytes = new TextEncoder().encode(this.#lines.join(''));
    this.#lines = [];
    const { session } = this;
    try {
      if (!this.#begun) this.#begin(bytes);
      else if (session.live && session.run) {
        session.run.raw.append(bytes);
        session.run.setOrigin();
        session.run.refreshNodes();
        session.emit('known');
      } else this.stop();
      this.#return();
    } catch (why) {
      this.stop();
      session.notice(t('trace.bad', { why: String(why) }), { bad: true });
    }
    session.touch();
  }

  /** The first lines of a tape; of the same tape once more, whoever looked back stays there. @param {Uint8Array} bytes */
  #begin(bytes) {
    const { session } = this;
    const { run, live } = session;
    const back = live && run && !live.follow ? { origin: run.origin, now: run.now, index: run.index } : null;
    this.#begun = true;
    session.openTrace(bytes, t('trace.live', { name: this.name }));
    this.#back = back && session.run?.origin === back.origin ? back : null;
    session.live = { name: String(this.name), follow: this.#back === null, lost: false };
    if (this.#lost) session.notice(t('time.live.again', { name: this.name }));
    this.#lost = false;
    this.#wait = AGAIN_MS[0];
    session.emit('play');
  }

  /** Where the user was looking when the stream was lost. @type {{now: number, index: number}|null} */
  #back = null;

  /** Goes there as soon as the tape has come so far. */
  #return() {
    const { session } = this;
    const back = this.#back;
    if (!back || !session.run || session.run.horizon < back.now || session.run.count < back.index) return;
    this.#back = null;
    session.seek(back.now);
    // Several events may share an instant.
    if (session.run.index !== back.index && back.index > 0) session.seekEvent(back.index - 1);
  }

  /** Back to the newest event. */
  now() {
    const { session } = this;
    if (!session.live) return;
    session.pause();
    session.live.follow = true;
    session.emit('play');
    session.touch();
  }

  stop() {
    this.#close();
    clearTimeout(this.#again);
    this.#again = 0;
    this.#lost = false;
    this.#back = null;
  }

  #close() {
    this.#stream?.close();
    this.#stream = null;
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#lines = [];
  }
}

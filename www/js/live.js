/** A running servent's own tape, as it grows. */
import { t } from './strings.js';

/** @import { Session } from './session.js' */

/** What `/api/info` says. @typedef {{name: string, version: string, live: boolean, traces?: string[], servents?: {id: string, name: string}[]}} Info */

/** A tape line is handed on with its neighbours, at most so often, in milliseconds. */
const GATHER_MS = 100;
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
  #begun = false;

  /** @param {Session} session */
  constructor(session) { this.session = session; }

  /** @param {Info} about @param {string} [id] of a servent */
  follow(about, id) {
    this.stop();
    this.name = about.servents?.find((s) => s.id === id)?.name ?? about.name;
    this.#begun = false;
    this.#stream = new EventSource(id ? `api/tape?servent=${encodeURIComponent(id)}` : 'api/tape');
    this.#stream.onmessage = (event) => {
      this.#lines.push(`${RS}${event.data}\n`);
      this.#timer ||= window.setTimeout(() => this.#hand(), GATHER_MS);
    };
    this.#stream.onerror = () => {
      // The stream cannot be resumed in the middle: what is there stays.
      this.stop();
      this.session.notice(t('time.live.lost'));
    };
  }

  /** Hands the gathered lines to the core. */
  #hand() {
    this.#timer = 0;
    const bytes = new TextEncoder().encode(this.#lines.join(''));
    this.#lines = [];
    const { session } = this;
    try {
      if (!this.#begun) {
        this.#begun = true;
        session.openTrace(bytes, t('trace.live', { name: this.name }));
        session.live = { name: String(this.name), follow: true };
      } else if (session.live && session.run) {
        session.run.raw.append(bytes);
        session.run.setOrigin();
        session.run.refreshNodes();
        session.emit('known');
      } else this.stop();
    } catch (why) {
      this.stop();
      session.notice(t('trace.bad', { why: String(why) }), { bad: true });
    }
    session.touch();
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
    this.#stream?.close();
    this.#stream = null;
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#lines = [];
  }
}

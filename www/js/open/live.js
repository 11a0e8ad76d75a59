/** A running servent's own tape, as it grows. */
import { Tape } from '#servent';
import { t } from '#lab/strings.js';
import { allViews, firstView, viewOf } from '#lab/views.js';

/** @import { QueueRun } from '../queue/run.js' */
/** @import { Run } from '../session/run.js' */
/** @import { Session } from '../session/session.js' */

/** What `/api/info` says. @typedef {{name: string, version: string, live: boolean, part?: boolean, traces?: string[], servents?: {id: string, name: string, view?: string}[]}} Info `view`: where a servent is at home */

/** A tape line is handed on with its neighbours, at most so often, in milliseconds. */
const GATHER_MS = 100;
/** A queue that cannot be worked out from the tape is asked for so often, in milliseconds. */
const ASK_MS = 1000;
/** After a lost connection it is tried again after this long; each failure doubles it, up to the last. */
const AGAIN_MS = [1000, 15_000];
const RS = '\x1e';

/** A servent at work serves the page. */
export const isServed = () => ['here', 'room'].includes(document.querySelector('meta[name="servent-api"]')?.getAttribute('content') ?? '');

/** Asks the servent that serves the page, if one does. @returns {Promise<Info|null>} */
export async function info() {
  if (!isServed()) return null;
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
    // A servent does more than one view shows.
    allViews();
    this.name = about.servents?.find((s) => s.id === id)?.name ?? about.name;
    this.id = id;
    const home = about.servents?.find((s) => s.id === id)?.view ?? firstView.id;
    this.#home = home === firstView.id ? null : home;
    this.#wait = AGAIN_MS[0];
    this.#open();
  }

  /** The view to go to as soon as there is something in it. @type {string|null} */
  #home = null;

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
    // A new tape does not push aside what is looked at meanwhile.
    if (!this.#begun && this.session.view.id !== 'queue') return void (this.#timer = window.setTimeout(() => this.#hand(), AGAIN_MS[0]));
    const lines = this.#lines;
    const bytes = new TextEncoder().encode(lines.join(''));
    this.#lines = [];
    const { session } = this;
    try {
      if (!this.#begun) {
        this.#begin(bytes);
        this.#cut(lines);
      } else if (this.#run && !this.#run.freed) {
        /** @type {Tape} */ (this.#run.source).append(bytes);
        // Another view may show the same tape.
        for (const run of new Set([this.#run, session.live ? session.run : null])) {
          run?.setOrigin();
          run?.refreshNodes();
        }
        if (session.live) session.emit('known');
      } else this.stop();
      this.#return();
      this.#goHome();
    } catch (why) {
      this.stop();
      session.notice(t('trace.bad', { why: String(why) }), { bad: true });
    }
    session.clock.touch();
    return undefined;
  }

  /** Who does one thing only is shown where that is at home, unless the user has gone elsewhere. */
  async #goHome() {
    const { session } = this;
    const [home, run] = [this.#home, this.#run];
    if (!home || !run || run.freed) return;
    if (session.view.id !== firstView.id) this.#home = null;
    else if (/** @type {Tape} */ (run.source).views().includes(home)) {
      this.#home = null;
      const view = await viewOf(home);
      if (session.run === run) session.bring(view);
    } else if (!this.#told) {
      this.#told = true;
      session.notice(t('time.live.nothing', { name: String(this.name) }));
    }
  }
  #told = false;

  /** The tape as the core knows it. @type {Run|null} */
  #run = null;

  /** The first lines of a tape; of the same tape once more, a person who looked back stays there. @param {Uint8Array} bytes */
  #begin(bytes) {
    const { session } = this;
    const { run, live } = session;
    const back = live && run && !live.follow ? { origin: run.origin, now: run.now, index: run.index } : null;
    this.#begun = true;
    this.#run = session.openTape(Tape.fromBytes(bytes), t('trace.live', { name: this.name }));
    this.#back = back && session.run?.origin === back.origin ? back : null;
    session.live = { name: String(this.name), follow: this.#back === null, lost: false };
    if (this.#lost) session.notice(t('time.live.again', { name: this.name }));
    this.#lost = false;
    this.#wait = AGAIN_MS[0];
    session.emit('play');
  }

  /** A tape whose first inputs are gone can be read, not run again: the queue comes from the servent. @param {string[]} lines */
  #cut(lines) {
    const first = lines.find((line) => /"servent:(gap|input)"/.test(line));
    if (this.#asking || !first?.includes('"servent:gap"') || !this.#run) return;
    const run = /** @type {QueueRun} */ (this.#run);
    run.stands = () => (this.session.live?.follow ? this.#queue : null);
    this.session.notice(t('time.live.cut', { name: this.name }));
    this.#asking = window.setInterval(() => this.#ask(run), ASK_MS);
    this.#ask(run);
  }
  #asking = 0;
  /** @type {any} */ #queue = null;

  /** @param {QueueRun} run */
  async #ask(run) {
    const wish = new URLSearchParams(Object.entries(run.sights).map(([k, v]) => [k, String(v)]));
    if (this.id) wish.set('servent', this.id);
    const answer = await fetch(`api/queue?${wish}`).catch(() => null);
    if (run.freed) return clearInterval(this.#asking);
    if (!answer?.ok) return undefined;
    this.#queue = await answer.json();
    return this.session.clock.touch();
  }

  /** Where the user was looking when the stream was lost. @type {{now: number, index: number}|null} */
  #back = null;

  /** Goes there as soon as the tape has come so far. */
  #return() {
    const { session } = this;
    const back = this.#back;
    if (!back || !session.run || session.run.horizon < back.now || session.run.count < back.index) return;
    this.#back = null;
    session.clock.seek(back.now);
    // Several events may share an instant.
    if (session.run.index !== back.index && back.index > 0) session.clock.seekEvent(back.index - 1);
  }

  /** Back to the newest event. */
  now() {
    const { session } = this;
    if (!session.live) return;
    session.clock.pause();
    session.live.follow = true;
    session.emit('play');
    session.clock.touch();
  }

  stop() {
    this.#close();
    clearTimeout(this.#again);
    this.#again = 0;
    this.#lost = false;
    this.#back = null;
    this.#told = false;
  }

  #close() {
    this.#stream?.close();
    this.#stream = null;
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#lines = [];
    clearInterval(this.#asking);
    this.#asking = 0;
    this.#queue = null;
  }
}

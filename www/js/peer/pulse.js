/** Says to the servent of the room how this page is, and hears where its class stands. */
import { Again } from '#lab/peer/again.js';

/** Between two words, in milliseconds; and while the class looks at this page. */
const PULSE_MS = 5000;
const SHOWN_MS = 1000;
/** What a person does on a page. */
const TOUCHES = ['pointerdown', 'keydown', 'input', 'scroll'];

export class Pulse {
  #touched = Date.now();
  #busy = false;
  #again = false;
  #timer = 0;
  #ended = false;
  /** It has said that it goes: nothing that it says after that would be true. */
  #gone = false;
  /** The servent knows this page from when it was first called. */
  #known = false;
  #patience = new Again(PULSE_MS);

  /**
   * @param {import('#servent').Peer} peer
   * @param {readonly [string, string]} line where it is called, and the secret of that
   * @param {() => Record<string, unknown>} about what else there is to say
   * @param {(answer: any) => boolean} hear what is answered; true while the class looks at this page
   * @param {(seconds: number) => void} lost the room does not answer, and is asked again in so many seconds; 0 when it does
   */
  constructor(peer, line, about, hear, lost) {
    this.peer = peer;
    this.line = line;
    this.about = about;
    this.hear = hear;
    this.lost = lost;
    for (const type of TOUCHES) addEventListener(type, () => { this.#touched = Date.now(); }, { passive: true, capture: true });
    document.addEventListener('visibilitychange', () => this.now());
    addEventListener('pageshow', () => {
      this.#gone = false;
      this.now();
    });
    this.now();
  }

  end() {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  /** This page goes: the others need not wait until it is silent. One that the browser shows again says so as before. */
  gone() {
    if (this.#ended || this.#gone) return;
    this.#gone = true;
    if (this.#known) navigator.sendBeacon(this.#address(), new Blob([JSON.stringify({ ...this.#how(), gone: true })], { type: 'application/json' }));
  }

  #address() {
    const [at, secret] = this.line;
    return `api/room/page?${new URLSearchParams({ at, secret })}`;
  }

  #how() { return { away: Math.floor((Date.now() - this.#touched) / 1000), hidden: document.visibilityState !== 'visible', ...this.about() }; }

  /** Says it now; something has changed. @returns {Promise<void>} */
  async now() {
    if (this.#ended || this.#gone) return;
    // What has changed while it was being said is said again.
    if (this.#busy) {
      this.#again = true;
      return;
    }
    [this.#busy, this.#again] = [true, false];
    clearTimeout(this.#timer);
    const wait = await this.#say().catch(() => this.#miss());
    this.#busy = false;
    if (this.#ended || this.#gone) return;
    if (this.#again) await this.now();
    else this.#timer = window.setTimeout(() => this.now(), wait);
  }

  async #say() {
    this.#known ||= this.peer.view(0).called;
    if (!this.#known) return SHOWN_MS;
    const answer = await fetch(this.#address(), { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(this.#how()) });
    this.#patience.after(true);
    this.lost(0);
    return answer.ok && this.hear(await answer.json()) ? SHOWN_MS : PULSE_MS;
  }

  /** The servent of the room is not there. */
  #miss() {
    const wait = this.#patience.after(false);
    this.lost(this.#patience.seconds);
    return wait;
  }
}

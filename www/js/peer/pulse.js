/** Says to the servent of the room how this page is, and hears where its class stands. */

/** Between two words, in milliseconds; and while everybody looks at this page. */
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

  /**
   * @param {import('#servent').Peer} peer
   * @param {readonly [string, string]} line where it is called, and the secret of that
   * @param {() => Record<string, unknown>} about what else there is to say
   * @param {(answer: any) => boolean} hear what is answered; true while everybody looks at this page
   */
  constructor(peer, line, about, hear) {
    this.peer = peer;
    this.line = line;
    this.about = about;
    this.hear = hear;
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

  /** This page goes: nobody has to wait until it is silent. One that the browser shows again says so as before. */
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
    const wait = await this.#say().catch(() => PULSE_MS);
    this.#busy = false;
    if (this.#ended || this.#gone) return;
    if (this.#again) await this.now();
    else this.#timer = window.setTimeout(() => this.now(), wait);
  }

  async #say() {
    this.#known ||= this.peer.view(0).called;
    if (!this.#known) return SHOWN_MS;
    const answer = await fetch(this.#address(), { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(this.#how()) });
    return answer.ok && this.hear(await answer.json()) ? SHOWN_MS : PULSE_MS;
  }
}

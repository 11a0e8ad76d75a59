/** Hands this servent's recording to the room piece by piece, while that is recorded. */
import { Again } from '#lab/peer/again.js';

/** Between two pieces, in milliseconds. */
const HAND_MS = 2000;
/** Bytes of one piece; the servent takes twice as many. */
const PIECE = 1 << 20;
/** Bytes that a browser sends for a page that is gone. */
const BEACON = 60_000;

/** A name for one tape: a page begins another with every reload. */
const draw = () => [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

export class Handing {
  #timer = 0;
  /** The last request, and the last one that was answered. */
  #round = 0;
  #answered = 0;
  #busy = false;
  #patience = new Again(HAND_MS);
  /** Not before this instant, while the room does not answer. */
  #next = 0;
  #run = draw();
  /** Lines of the tape that were taken from it, and the bytes of those that the room does not have yet. */
  #lines = 0;
  #waiting = new Uint8Array(0);
  #has = 0;
  /** Bytes of the piece that is on its way. */
  #sent = 0;

  /** The room knows where we are called, and so who hands something in. */
  #known = false;

  /** @param {import('#servent').Peer} peer @param {readonly [string, string]} line where it is called, and the secret of that @param {(on: boolean) => void} tell */
  constructor(peer, line, tell) {
    this.peer = peer;
    this.line = line;
    this.tell = tell;
  }

  /** From now on, and with a `round` at once: the room asks for what there is. */
  begin(round = 0) {
    this.#round = Math.max(this.#round, round);
    if (!this.#timer) this.#timer = window.setInterval(() => this.#hand(), HAND_MS);
    this.tell(true);
    this.#hand();
  }

  end() {
    clearInterval(this.#timer);
    this.#timer = 0;
    this.tell(false);
    this.#again();
  }

  /** The page goes: what still fits is sent behind it, and behind the piece that is on its way. */
  last() {
    if (!this.#timer || !this.#known) return;
    this.#gather();
    const rest = this.#waiting.subarray(this.#sent);
    if (rest.length && rest.length <= BEACON) navigator.sendBeacon(this.#address(this.#round, this.#has + this.#sent), rest);
  }

  /** Another tape, from the first line. */
  #again() {
    [this.#run, this.#lines, this.#waiting, this.#has, this.#sent] = [draw(), 0, new Uint8Array(0), 0, 0];
  }

  #gather() {
    const more = this.peer.tapeFrom(this.#lines);
    this.#lines = this.peer.tapeLines();
    const all = new Uint8Array(this.#waiting.length + more.length);
    all.set(this.#waiting);
    all.set(more, this.#waiting.length);
    this.#waiting = all;
  }

  /** Where a piece goes. @param {number} round the request of the room that it answers @param {number} from the bytes before it */
  #address(round, from) {
    const [at, secret] = this.line;
    return `api/room/tape?${new URLSearchParams({ at, secret, run: this.#run, from: String(from), round: String(round) })}`;
  }

  /** Until nothing waits; what could not be sent waits for the next time. */
  async #hand() {
    this.#known ||= this.peer.view(0).called;
    if (this.#busy || !this.#known || Date.now() < this.#next) return;
    this.#busy = true;
    try {
      while (this.#timer) {
        this.#gather();
        const round = this.#round;
        if (!this.#waiting.length && round === this.#answered) return undefined;
        const piece = this.#waiting.subarray(0, PIECE);
        // A request of the room is answered by the last piece: with the first, it would read a tape that is cut.
        const answers = piece.length === this.#waiting.length ? round : this.#answered;
        this.#sent = piece.length;
        const answer = await fetch(this.#address(answers, this.#has), { method: 'POST', body: piece });
        this.#next = 0;
        this.#patience.after(true);
        if (!answer.ok) return undefined;
        const told = await answer.json();
        // The host has deleted it, or there is too much.
        if (told === 'off') return this.end();
        // The room has something else of this tape than we think.
        if ('only' in told) return this.#again();
        this.#has += piece.length;
        this.#sent = 0;
        this.#waiting = this.#waiting.slice(piece.length);
        this.#answered = answers;
      }
    } catch {
      // The servent is not there; it is asked again, ever more rarely.
      this.#next = Date.now() + this.#patience.after(false);
    } finally {
      [this.#busy, this.#sent] = [false, 0];
    }
    return undefined;
  }
}

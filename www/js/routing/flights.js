/** Every message that is known, in columns: when it left, where to, what became of it. */


/** Numbers of a flight in an answer of the core. */
const STRIDE = 10;
/** Flights asked for at once. */
const AT_ONCE = 60_000;

/** The first fate that is a drop. */
export const DROPPED = 10;
/** The drop of what came twice. */
export const TWICE = 10;
/** The first that is a loss on the way. */
export const LOST = 40;

export class Flights {
  count = 0;
  #room = 0;
  /** @type {Float64Array} when it left, and when it arrives or is lost, in microseconds */ sent = new Float64Array(0);
  due = new Float64Array(0);
  id = new Float64Array(0);
  from = new Uint32Array(0);
  to = new Uint32Array(0);
  link = new Uint32Array(0);
  seq = new Uint32Array(0);
  kind = new Uint8Array(0);
  fate = new Uint8Array(0);
  guid = new Int32Array(0);
  /** The longest flight. */ longest = 0;
  /** How long one usually takes. */ usual = 50_000;
  /** Up to here everything is known. */ known = -1;
  /** Before this one nothing changes any more. */ settled = 0;
  /** Counts up when something was taken back. */ edition = 0;

  /** Another branch: what is known of it is not known yet. */
  clear() {
    this.count = this.settled = 0;
    this.known = -1;
    this.longest = 0;
    this.edition += 1;
  }

  /** Takes up what became known. @param {import('#servent').Routing | import('#servent').Overlay} source @param {number} frontier */
  learn(source, frontier) {
    if (frontier <= this.known) return;
    // What was in flight has arrived, or was lost sooner than it was due.
    let from = this.settled < this.count ? this.sent[this.settled] : Math.max(0, this.known);
    this.count = this.settled;
    for (;;) {
      const rows = source.flights(from, frontier, AT_ONCE);
      const n = rows.length / STRIDE;
      const last = n > 0 ? rows[(n - 1) * STRIDE + 3] : from;
      // What left earlier is here already; a full answer may stop amid an instant.
      const whole = n < AT_ONCE;
      this.#take(rows, n, from, whole ? Infinity : last);
      if (whole || last <= from) break;
      from = last;
    }
    this.known = frontier;
    while (this.settled < this.count && this.fate[this.settled] !== 0) this.settled += 1;
  }

  /** @param {Float64Array} rows @param {number} n @param {number} from @param {number} before */
  #take(rows, n, from, before) {
    this.#grow(this.count + n);
    const first = this.count;
    const old = first > 0 ? this.id[first - 1] : -1;
    for (let i = 0; i < n; i += 1) {
      const row = i * STRIDE;
      const sent = rows[row + 3];
      if (sent < from || sent >= before || (sent === from && rows[row] <= old)) continue;
      const at = this.count++;
      this.id[at] = rows[row];
      this.from[at] = rows[row + 1];
      this.to[at] = rows[row + 2];
      this.sent[at] = sent;
      this.due[at] = Math.max(sent + 1, rows[row + 4]);
      this.kind[at] = rows[row + 5];
      this.fate[at] = rows[row + 6];
      this.guid[at] = rows[row + 7];
      this.link[at] = rows[row + 8];
      this.seq[at] = rows[row + 9];
      this.longest = Math.max(this.longest, this.due[at] - sent);
    }
    if (first === 0 && this.count > 0) this.usual = Math.max(100, this.due[this.count >> 1] - this.sent[this.count >> 1]);
  }

  /** @param {number} n */
  #grow(n) {
    if (n <= this.#room) return;
    this.#room = Math.max(4096, 2 * n);
    for (const key of /** @type {const} */ (['sent', 'due', 'id', 'from', 'to', 'link', 'seq', 'kind', 'fate', 'guid'])) {
      const old = this[key];
      const fresh = new /** @type {any} */ (old.constructor)(this.#room);
      fresh.set(old.subarray(0, this.count));
      this[key] = fresh;
    }
  }

  /** The first that left at or after an instant. @param {number} at */
  firstFrom(at) {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.sent[middle] < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The one with this number. @param {number} id @returns {number} its place, or −1 */
  place(id) {
    // Numbers are given out in order of departure.
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.id[middle] < id) low = middle + 1;
      else high = middle;
    }
    return low < this.count && this.id[low] === id ? low : -1;
  }
}

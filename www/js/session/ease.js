/** Playing slows down while a fault strikes, so that it is seen. */

/** @import { Run } from './run.js' */

/** Around a fault time passes so much more slowly, from so long before it to so long after it, in milliseconds of the page's own time. */
const SLOW = 1 / 3;
const [BEFORE_MS, AFTER_MS] = [200, 500];
/** Faults that come sooner after another than this are not waited for. */
const APART_MS = 4000;

export class Ease {
  /** Whether it is wanted. */ on = true;
  /** Whether it is so now. */ now = false;
  #key = '';
  /** @type {number[]} */ #at = [];

  /** How fast time passes, of what is set. @param {Run} run @param {number} speed @param {string} which differs when other faults are there */
  factor(run, speed, which) {
    const key = `${run.count}|${which}|${speed}`;
    if (key !== this.#key) {
      this.#key = key;
      const all = run.pins().filter(({ kind }) => kind === 'fault').map(({ at }) => at);
      this.#at = all.filter((at, i) => i === 0 || at - all[i - 1] >= APART_MS * 1000 * speed);
    }
    const [before, after] = [BEFORE_MS, AFTER_MS].map((ms) => ms * 1000 * speed);
    this.now = this.on && this.#at.some((at) => run.now >= at - before && run.now < at + after);
    return this.now ? SLOW : 1;
  }
}

/** A lesson's reveal: so long for what happens, and so long for a wait in which nothing does, in milliseconds. */
const [SHOWN_MS, WAIT_MS] = [2600, 700];
/** More events are shown evenly. */
const MOST = 4000;
/** A wait is this share of the whole at least, and of all waits the longest. */
const [WAIT, LONG] = [1 / 100, 0.4];

/** How fast time passes where nearly all of it is waiting: what happens takes a while to be seen, a wait is soon over. */
export class Pace {
  /** @param {{to: number, rate: number}[]} parts until when, and microseconds for each millisecond */
  constructor(parts) { this.parts = parts; }

  /**
   * Of what happens from here to an instant; null where it happens evenly.
   * @param {Run} run at its beginning @param {number} until
   */
  static of(run, until) {
    const [from, first] = [run.now, run.index];
    run.raw.seek(until);
    const last = run.index;
    const at = last - first > MOST ? [] : Array.from({ length: last - first }, (_, i) => run.record(first + i)).filter(({ event }) => !('routing' in event)).map((record) => record.at);
    run.raw.seek(from);
    const whole = until - from;
    const waits = [from, ...at].map((begun, i) => ({ begun, ends: at[i] ?? until })).filter(({ begun, ends }) => ends - begun > whole * WAIT);
    if (!at.length || !waits.some(({ begun, ends }) => ends - begun > whole * LONG)) return null;
    const parts = [];
    let now = from;
    // A little of the wait belongs to what happens before and after it.
    const lead = Math.max(50_000, Math.min(...waits.map(({ begun, ends }) => ends - begun)) / 1000);
    for (const { begun, ends } of waits) {
      const quick = begun === from ? from : begun + lead;
      if (quick > now) parts.push({ to: quick, rate: (quick - now) / SHOWN_MS });
      parts.push({ to: Math.max(quick, ends - lead), rate: Math.max(1, (ends - lead - quick) / WAIT_MS) });
      now = Math.max(quick, ends - lead);
    }
    if (until > now) parts.push({ to: until, rate: (until - now) / SHOWN_MS });
    return new Pace(parts);
  }

  /** How far to go in so many milliseconds. @param {number} now @param {number} ms */
  ahead(now, ms) {
    let [at, left] = [now, ms];
    for (const { to, rate } of this.parts) {
      if (to <= at || left <= 0) continue;
      const need = (to - at) / rate;
      if (need > left) return at + left * rate - now;
      left -= need;
      at = to;
    }
    return Math.max(at - now, 1);
  }
}

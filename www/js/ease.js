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

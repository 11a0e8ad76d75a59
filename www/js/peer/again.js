/** When a servent that does not answer is asked again: a closed room is not asked every second for ever. */

/** The most between two questions, in milliseconds. */
const MOST_MS = 60_000;

export class Again {
  #misses = 0;

  /** @param {number} usual between two questions while they are answered, in milliseconds */
  constructor(usual) { this.usual = usual; }

  /** How long until the next question: twice as long after each that is not answered. @param {boolean} answered @returns {number} */
  after(answered) {
    this.#misses = answered ? 0 : this.#misses + 1;
    return this.wait;
  }

  /** The same without a new answer. @returns {number} */
  get wait() { return Math.min(this.usual * 2 ** this.#misses, MOST_MS); }

  /** For the sentence that says so. @returns {number} */
  get seconds() { return Math.ceil(this.wait / 1000); }
}

/**
 * What a class answered in a lesson: each person's commits, and how many believed
 * what did not happen. It is for the host, on the host's machine, and has no names:
 * what leaves the room says Person 1, Person 2, by numbers that are drawn.
 */
import { csv } from '#lab/lesson/commits.js';
import { plain } from '#lab/lesson/marks.js';

/** @import { Going } from './steps.js' */
/** @typedef {{at: string, commits: Record<number, number>}} Member */

/** The steps in which the question of this one was asked. @param {any} lesson @param {number} step */
export function roundsOf(lesson, step) {
  const before = lesson.steps.map((/** @type {any} */ one, /** @type {number} */ n) => ({ kind: one.do, n }));
  const kind = before[step].kind;
  if (kind === 'observe') return [step];
  const first = before.findLast((/** @type {any} */ one) => one.kind === 'predict' && one.n <= step);
  const again = before.find((/** @type {any} */ one) => one.kind === 'again' && one.n > (first?.n ?? 0));
  return [first?.n, again?.n].filter((n) => n !== undefined);
}

const COLUMNS = /** @type {const} */ (['person', 'lesson', 'step', 'round', 'question', 'said', 'happened']);

/** Numbers instead of names: drawn once for each run of a lesson, so that a table and a printed page agree. */
export class Pseudonyms {
  #run = -1;
  /** @type {Map<string, number>} */ #numbers = new Map();

  /** The members by their numbers. @template {Member} M @param {number} run @param {M[]} members @returns {[number, M][]} */
  drawn(run, members) {
    if (run !== this.#run) this.#numbers.clear();
    this.#run = run;
    const fresh = members.filter(({ at }) => !this.#numbers.has(at)).map((one) => ({ one, by: crypto.getRandomValues(new Uint32Array(1))[0] }));
    for (const { one } of fresh.toSorted((a, b) => a.by - b.by)) this.#numbers.set(one.at, this.#numbers.size + 1);
    return members.map((one) => /** @type {[number, M]} */ ([/** @type {number} */ (this.#numbers.get(one.at)), one])).toSorted(([a], [b]) => a - b);
  }
}

/** What is asked, once for all rounds in which it is. @param {any} lesson */
export const questions = (lesson) => lesson.steps.flatMap((/** @type {any} */ { choices }, /** @type {number} */ n) => (choices.length && roundsOf(lesson, n)[0] === n ? [{ rounds: roundsOf(lesson, n), first: n }] : []));
/** @param {any} lesson @param {number} first */
export const asked = (lesson, first) => lesson.steps[first].text.split('\n')[0];

/**
 * A line for each commit.
 * @param {any} lesson @param {Going} going @param {[number, Member][]} members
 */
export function classTable(lesson, going, members) {
  const rows = members.flatMap(([person, { commits }]) => questions(lesson).flatMap((/** @type {any} */ { rounds, first }) => rounds.flatMap((/** @type {number} */ step) => {
    const said = commits[step];
    const truth = going.truth[first] ?? null;
    if (said === undefined) return [];
    return [{ person, lesson: lesson.title, step: step + 1, round: lesson.steps[step].do, question: plain(asked(lesson, first)), said: plain(lesson.steps[first].choices[said]?.text ?? ''), happened: truth === null ? '' : said === truth }];
  })));
  return csv(COLUMNS, rows);
}

/**
 * What is answered in each lesson, step by step from 0: what is right, and
 * what is wrong. Stored here and not asked of the core, so that a change of
 * the rules that makes an answer wrong is noticed.
 */

/** @import * as T from '../js/types' */
/** @typedef {{right: T.QuestionReply, wrong: T.QuestionReply}} Answers */
/** @typedef {{right: Partial<T.StageTweak>, wrong: Partial<T.StageTweak>}} Deeds */

const choice = (/** @type {number} */ right, /** @type {number} */ wrong) => ({ right: { choice: right }, wrong: { choice: wrong } });
const number = (/** @type {number} */ right, /** @type {number} */ wrong) => ({ right: { number: right }, wrong: { number: wrong } });
const order = (/** @type {string[]} */ ...right) => ({ right: { order: right }, wrong: { order: [...right].reverse() } });

const FIRST = ['B gets a message of a connection it does not know', 'B asks for the first message', 'A sends message 1 again', 'B hands on a message'];

/** @type {Record<string, Record<number, Answers>>} */
export const ANSWERS = {
  'polling-windows': { 2: choice(1, 0), 4: choice(1, 0), 6: choice(0, 1) },
  'cut-the-wire': { 1: choice(1, 2), 3: choice(0, 1), 5: choice(0, 1) },
  newcomer: { 0: order('waiting-1', 'waiting-2', 'waiting-5', 'newcomer-1'), 4: order('newcomer-1', 'waiting-1', 'waiting-2', 'waiting-5') },
  flood: { 2: number(2, 0), 4: choice(1, 0), 6: number(0, 2) },
  'way-back': { 1: choice(1, 0), 3: { right: { node: 'C' }, wrong: { node: 'B' } }, 5: choice(2, 1) },
  'late-push': { 0: number(1, 2), 4: number(2, 1) },
  'lose-the-middle': { 2: choice(1, 0), 4: choice(1, 0), 6: choice(0, 1) },
  'lose-the-last': { 0: choice(1, 0), 2: number(1, 9), 4: choice(0, 1) },
  'lose-the-first': { 0: order(...FIRST), 4: order(...FIRST) },
  'free-piece': { 2: choice(1, 0), 4: choice(0, 1), 6: choice(0, 1) },
  'two-for-one': { 1: choice(0, 1), 3: choice(1, 0), 5: choice(1, 0) },
  deadlock: { 0: choice(1, 0), 4: choice(0, 1) },
};

/** @type {Record<string, Record<number, Deeds>>} */
export const DEEDS = {
  newcomer: { 2: { right: { acts: [{ at: 45e6, ask_now: { node: 6 } }] }, wrong: { acts: [{ at: 45e6, cut: { a: 0, b: 6 } }] } } },
  'late-push': { 2: { right: { acts: [{ at: 3000e6, search: { node: 0, words: 'holiday film' } }] }, wrong: { acts: [{ at: 3000e6, search: { node: 3, words: 'holiday film' } }] } } },
  'lose-the-first': { 2: { right: { acts: [{ at: 0, drop: { from: 0, to: 1, n: 1 } }] }, wrong: { acts: [{ at: 0, drop: { from: 0, to: 1, n: 5 } }] } } },
  deadlock: { 2: { right: { set: { 'swarm.policy': 'adaptive' } }, wrong: { set: { source_slots: 8 } } } },
};

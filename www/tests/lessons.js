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
const CLOSED = ['A begins to close', 'A sends something again', 'B asks for what is missing', 'The connection is closed at A'];

/** @type {Record<string, Record<number, Answers>>} */
export const ANSWERS = {
  'polling-windows': { 2: choice(1, 0), 4: choice(1, 0), 6: choice(0, 1) },
  'cut-the-wire': { 1: choice(1, 2), 3: choice(0, 1), 5: choice(0, 1) },
  newcomer: { 0: order('waiting-1', 'waiting-2', 'waiting-5', 'newcomer-1'), 4: order('newcomer-1', 'waiting-1', 'waiting-2', 'waiting-5') },
  'server-restart': { 2: choice(2, 0), 4: choice(0, 1), 6: choice(1, 2) },
  'three-languages': { 1: order('plain', 'active', 'parq'), 3: choice(1, 0), 5: order('active', 'parq', 'plain') },
  'hang-up': { 0: choice(0, 1), 4: choice(1, 0) },
  flood: { 2: number(2, 0), 4: choice(1, 0), 6: number(0, 2) },
  'way-back': { 1: choice(1, 0), 3: { right: { node: 'C' }, wrong: { node: 'B' } }, 5: choice(2, 1) },
  'late-push': { 0: number(1, 2), 4: number(2, 1) },
  mesh: { 2: choice(2, 0), 4: number(35, 36), 6: choice(0, 2) },
  'hop-limit': { 1: number(14, 7), 3: choice(1, 0), 5: number(8, 4) },
  'late-answer': { 0: choice(1, 0), 4: choice(0, 1) },
  'lose-the-middle': { 2: choice(1, 0), 4: choice(1, 0), 6: choice(0, 1) },
  'lose-the-last': { 0: choice(1, 0), 2: number(1, 9), 4: choice(0, 1) },
  'lose-the-first': { 0: order(...FIRST), 4: order(...FIRST) },
  'lose-the-ack': { 2: choice(2, 0), 4: choice(1, 0), 6: choice(0, 2) },
  restart: { 1: choice(1, 0), 3: number(40, 32), 5: choice(1, 0) },
  'close-in-flight': { 0: order(...CLOSED), 4: order(...CLOSED) },
  'fill-the-queue': { 1: choice(2, 0), 3: choice(1, 0), 5: choice(0, 2) },
  'free-piece': { 2: choice(1, 0), 4: choice(0, 1), 6: choice(0, 1) },
  'two-for-one': { 1: choice(0, 1), 3: choice(1, 0), 5: choice(1, 0) },
  deadlock: { 0: choice(1, 0), 4: choice(0, 1) },
  'rarest-first': { 2: choice(0, 2), 4: number(24, 1), 6: choice(0, 2) },
  liar: { 1: choice(1, 0), 3: number(3, 1), 5: choice(1, 0) },
  firewalls: { 0: number(8, 16), 4: number(4, 8) },
  'two-doors': { 2: choice(1, 0), 4: choice(1, 0), 6: choice(1, 0), 7: choice(0, 1) },
  'test-waiting': { 0: choice(1, 0), 1: choice(2, 0), 2: choice(2, 0), 3: choice(1, 0) },
  'test-finding': { 0: choice(1, 0), 1: choice(1, 0), 2: choice(1, 0) },
  'test-mending': { 0: choice(2, 1), 1: choice(1, 0), 2: choice(1, 0) },
  'test-sharing': { 0: choice(1, 0), 1: choice(1, 0), 2: choice(0, 1) },
};

/** @type {Record<string, Record<number, Deeds>>} */
export const DEEDS = {
  newcomer: { 2: { right: { acts: [{ at: 45e6, ask_now: { node: 6 } }] }, wrong: { acts: [{ at: 45e6, cut: { a: 0, b: 6 } }] } } },
  'late-push': { 2: { right: { acts: [{ at: 3000e6, search: { node: 0, words: 'holiday film' } }] }, wrong: { acts: [{ at: 3000e6, search: { node: 3, words: 'holiday film' } }] } } },
  'lose-the-first': { 2: { right: { acts: [{ at: 0, drop: { from: 0, to: 1, n: 1 } }] }, wrong: { acts: [{ at: 0, drop: { from: 0, to: 1, n: 5 } }] } } },
  deadlock: { 2: { right: { set: { 'swarm.policy': 'adaptive' } }, wrong: { set: { source_slots: 8 } } } },
  'hang-up': { 2: { right: { set: { 'servers.0.queue.sync_places': 50 } }, wrong: { set: { 'servers.0.queue.slots': 4 } } } },
  'late-answer': { 2: { right: { acts: [{ at: 650e6, search: { node: 0, words: 'old song' } }] }, wrong: { acts: [{ at: 650e6, search: { node: 1, words: 'old song' } }] } } },
  'close-in-flight': { 2: { right: { acts: [{ at: 0, drop: { from: 0, to: 1, n: 9 } }] }, wrong: { acts: [{ at: 0, drop: { from: 0, to: 1, n: 5 } }] } } },
  firewalls: { 2: { right: { set: { 'swarm.connect_failures': 0 } }, wrong: { set: { source_slots: 2 } } } },
};

/**
 * Of each step to watch: the second at which what was asked has happened, and the event by
 * which it has; or why only the end of the step shows it.
 * @type {Record<string, [number, string]|string>}
 */
export const WATCHED = {
  'polling-windows': [20.05, 'queue.lost'],
  'cut-the-wire': [35, 'queue.lost'],
  newcomer: [198.37, 'queue.started'],
  'server-restart': [105, 'queue.restored'],
  'three-languages': [78.26, 'queue.started'],
  'hang-up': [85.85, 'queue.told'],
  flood: [0.48, 'message.judged'],
  'way-back': [2.3, 'message.judged'],
  'late-push': [3662.3, 'message.judged'],
  mesh: [1.59, 'message.judged'],
  'hop-limit': [0.48, 'message.judged'],
  'late-answer': [1222.8, 'message.judged'],
  'lose-the-middle': [0.345, 'unicast.requested'],
  'lose-the-last': [0.489, 'unicast.delivered'],
  'lose-the-first': [0.195, 'unicast.delivered'],
  'lose-the-ack': [0.247, 'unicast.duplicate'],
  restart: [0.72, 'unicast.first_requested'],
  'close-in-flight': [0.542, 'unicast.closed'],
  'fill-the-queue': 'what half of all datagrams waited is known when the last has arrived',
  'free-piece': [9.25, 'swarm.arrived'],
  'two-for-one': [2, 'swarm.unstalled'],
  deadlock: 'that nothing moves any more is seen by waiting',
  'rarest-first': [29.25, 'swarm.finished'],
  liar: [7.25, 'swarm.quarantined'],
  firewalls: [24, 'swarm.mode'],
  'two-doors': [1.14, 'packet.arrived'],
};

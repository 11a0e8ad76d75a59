/**
 * What is looked for among events: words of what is shown, or `key:value` for
 * one part of it.
 */
import { tell } from '#lab/strings.js';

/** @import * as T from './types' */
/** @import { Run } from './session/run.js' */

/** The number of a requirement. */
const REQUIREMENT = /^(aq|pq|qa|rt|uc|sw)-\d+$/;

/** Whether one part of an event is what is looked for. @type {Record<string, (wanted: string, part: {area: string, body: any, record: T.LabRecord}) => boolean>} */
const PARTS = {
  type: (wanted, { area, body }) => [area, body.what, body.kind].includes(wanted),
  drop: (wanted, { body }) => body.why === wanted && (body.what === 'lost' || body.verdict === 'dropped' || body.verdict === undefined),
  why: (wanted, { body }) => body.why === wanted,
  node: (wanted, { record }) => String(record.node) === wanted || [record.node_name, record.who].some((name) => name?.toLowerCase() === wanted),
};

/**
 * A test for what a person typed: every word of it must fit.
 * @param {string} query
 * @returns {(record: T.LabRecord, run: Run) => boolean}
 */
export function matcher(query) {
  const tests = query.toLowerCase().split(/\s+/).filter(Boolean).map(one);
  return (record, run) => {
    const [area, body] = Object.entries(record.event)[0];
    const part = { area, body, record, shown: '' };
    return tests.every((test) => test(part, run));
  };
}

/** @param {string} word @returns {(part: {area: string, body: any, record: T.LabRecord, shown: string}, run: Run) => boolean} */
function one(word) {
  const [key, value = ''] = word.split(':', 2);
  if (value && Object.hasOwn(PARTS, key)) return (part) => PARTS[key](value, part);
  if (REQUIREMENT.test(word)) return ({ record }, run) => run.why(record.seq)?.id?.toLowerCase() === word;
  return (part, run) => {
    part.shown ||= shown(run.named(part.record)).toLowerCase();
    return part.shown.includes(word);
  };
}

/** What a row of the table says. @param {T.LabRecord} record */
function shown(record) {
  return `${record.node_name} ${kindOf(record)} ${tell(record)}`;
}

/** The kind of an event as the table names it. @param {T.LabRecord} record */
export function kindOf({ event }) {
  const [area, { what }] = Object.entries(event)[0];
  return `${area} ${String(what).replaceAll('_', ' ')}`;
}

/** Events by which something is lost or turned away. */
const LOSSES = new Set(['datagram lost', 'message lost', 'queue lost', 'queue refused', 'client wrong', 'client refused', 'swarm failed', 'fetch corrupt', 'fetch piece wrong', 'fetch failed', 'conn dial failed']);

/** Whether something is lost, dropped or turned away. @param {T.LabRecord} record */
export const isLoss = (record) => LOSSES.has(kindOf(record)) || Object.values(record.event)[0].verdict === 'dropped';

/**
 * The event nearest to the clock by which something is lost or a rule is
 * broken; null when there is none.
 * @param {Run} run
 * @param {1|-1} by after the clock or before it
 * @returns {number|null}
 */
export function nearestLoss(run, by) {
  const broken = new Set(run.pins().filter(({ kind }) => kind === 'violation').map(({ seq }) => seq));
  // The newest event that has happened is not looked at again.
  const [begin, end] = by > 0 ? [run.index, run.count] : [0, run.index - 1];
  for (let done = 0; done < end - begin; done += FAR) {
    const length = Math.min(FAR, end - begin - done);
    const batch = run.records(by > 0 ? begin + done : end - done - length, length, '');
    const found = (by > 0 ? batch : batch.reverse()).find((record) => isLoss(record) || broken.has(record.seq));
    if (found) return found.seq;
  }
  return null;
}
/** Records that are read at once when one is looked for. */
const FAR = 512;

/** Events that fit, found a few at a time, so that the page stays quick. */
export class Finder {
  /** @type {T.LabRecord[]} */ found = [];
  #next = 0;
  #key = '';
  /** @type {ReturnType<typeof matcher>} */ #fits = () => true;

  /** Goes on for so many milliseconds; false while there is more to look through. @param {Run} run @param {string} query @param {string} where differs for another run or branch @param {number} ms @param {number} most */
  look(run, query, where, ms, most) {
    const key = `${query}|${where}`;
    if (key !== this.#key) {
      this.#key = key;
      this.#next = 0;
      this.found = [];
      this.#fits = matcher(query);
    }
    const end = performance.now() + ms;
    while (this.#next < run.count && this.found.length < most) {
      const batch = run.records(this.#next, BATCH, '');
      if (!batch.length) break;
      this.#next += batch.length;
      for (const record of batch) if (this.found.length < most && this.#fits(record, run)) this.found.push(record);
      if (performance.now() > end) break;
    }
    return this.#next >= run.count || this.found.length >= most;
  }
}
/** Records that are read at once. */
const BATCH = 64;

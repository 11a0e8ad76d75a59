/** What was done to reach a goal, in words. */
import { clock } from '#lab/format.js';
import { t } from '#lab/strings.js';
import { worded } from '#lab/lesson/tasks.js';

/** @import * as T from '../types' */
/** @import { Run } from '../session/run.js' */

/** Fields of a deed that hold the number of a node, those that hold a length of time, and those that its name has told. */
const [NODES, TIMES, TOLD] = [['node', 'client', 'from', 'to', 'a', 'b'], ['length', 'by'], ['habit', 'closed']];

/** What the view calls a deed. @param {string} what @param {any} how */
const gesture = (what, how) => t(`gesture.${what === 'firewall' ? (how.closed ? 'firewall' : 'open') : what === 'habit' ? how.habit : what}`);

/**
 * A sentence for each deed, and for each setting that was changed.
 * @param {{acts?: any[], set?: Record<string, any>}} done @param {NonNullable<T.TaskView['goal']>['settings']} settings @param {Run|null} run
 */
export function deedsInWords({ acts = [], set = {} }, settings, run) {
  const name = (/** @type {any} */ value) => (typeof value === 'number' ? run?.node(value)?.name ?? value : value);
  const told = (/** @type {[string, any]} */ [key, value]) => (NODES.includes(key) ? name(value) : TIMES.includes(key) ? clock(value) : value);
  const deed = (/** @type {any} */ { at, ...act }) => {
    const [what, how] = /** @type {[string, any]} */ (Object.entries(act)[0]);
    const about = Object.entries(how).filter(([key]) => !TOLD.includes(key)).map(told).join(', ');
    return `${clock(at)}: ${gesture(what, how)}${about ? ` (${about})` : ''}`;
  };
  const setting = (/** @type {[string, any]} */ [key, value]) => `${settings.find((one) => one.key === key)?.text ?? key}: ${worded(value)}`;
  return [...acts.map(deed), ...Object.entries(set).map(setting)];
}

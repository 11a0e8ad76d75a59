/** What a pin on the line of time says. */
import { known, t } from '#lab/strings.js';

/** @import * as T from '../types' */
/** @import { Run } from '../session/run.js' */

/** As a sentence, and in a word or two. @param {Run} run @param {T.Pin} pin */
export function words(run, pin) {
  const called = (/** @type {unknown} */ id) => run.node(Number(id ?? NaN))?.name ?? '';
  const [node, other] = [called(pin.args.node), called(pin.args.other)];
  // A key with a reason at its end may be said without it.
  const said = (/** @type {string} */ tail) => [pin.key, pin.key.replace(/\.[^.]+$/, '')].find((key) => known(key + tail)) ?? pin.key;
  const text = t(said(''), { ...pin.args, node, other, who: called(pin.args.to ?? pin.args.peer ?? pin.args.from) || undefined });
  const short = pin.kind === 'fault' ? t('time.pin.short', { action: t(`${said('.short')}.short`), node: other || node }) : text;
  return { text, short };
}

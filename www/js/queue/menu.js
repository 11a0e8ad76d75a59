/** The menu of what can be done to a client: cut, ask, sleep, stall, restart. */
import { openMenu } from '#lab/panels/menu.js';
import { t } from '#lab/strings.js';

/** @import * as T from '../types' */
/** @import { Session } from '../session/session.js' */

/** Gestures and their keys. */
export const GESTURES = /** @type {const} */ ([['cut', 'D'], ['ask_now', 'A'], ['sleep', 'Z'], ['stall', 'T'], ['resume', ''], ['restart', 'X'], ['crash', '']]);

/**
 * Opens the menu at a button; Escape or a click elsewhere closes it.
 * @param {Session} session
 * @param {T.Selection} target
 * @param {Element} anchor
 */
export function gestureMenu(session, target, anchor) {
  openMenu(anchor, t('gesture.group', { name: target.name }), GESTURES.map(([gesture, key]) => ({
    text: t(`gesture.${gesture}`), key, run: () => session.actions.gesture(gesture, target),
  })));
}

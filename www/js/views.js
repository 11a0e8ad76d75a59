/**
 * The worlds one can look at. Each brings a class of the core, a picture, and
 * what can be done in it; time, events, inspector and links are the same for all.
 */
import { queue } from '#lab/queue/view.js';
import { learn } from '#lab/strings.js';

/** @import * as T from './types' */
/** @import { Run } from './session/run.js' */
/** @import { Session } from './session/session.js' */
/** @import { speak } from './strings.js' */

/**
 * What a view is.
 * @typedef {object} View
 * @property {string} id in links and names of sentences
 * @property {number} speed to begin with
 * @property {Parameters<typeof speak>[0]} [strings] sentences of its own
 * @property {() => T.Preset<any>[]} presets
 * @property {(scenario: any) => Run} fromScenario
 * @property {(world: {scenario: any, claim: T.Checkpoint|null}) => Run} fromWorld the file of a simulated world, simulated again
 * @property {(tape: import('#servent').Tape | import('#servent').Tapes) => Run|null} [fromTape] the tape of a servent, or those of several; null where it has nothing that could be shown
 * @property {(scenario: any, told?: boolean) => {name: string, scenario: any}[]} variants two ways to run it; with `told`, only where the story is about them
 * @property {() => Pane} pane makes the picture
 * @property {(session: Session) => void} [opened] a story was opened: what it is about can be selected
 * @property {(run: any) => [string, string][]} outcomes totals of a run at its cursor: which, and how much
 * @property {(session: Session) => [string, string, number?][]} facts of the selection; with a share of one, as a bar too
 * @property {(session: Session) => Node|null} sign of the selection, beside its name
 * @property {(session: Session) => number|null} [event] the record the selection is about
 * @property {(session: Session) => Node|null} [about] more on the selection, below its facts
 * @property {(session: Session) => {gesture: string, text: string, key: string}[]} gestures what can be done to the selection
 * @property {(gesture: string, target: T.Selection, session: Session) => Action|null} action
 * @property {(session: Session, us: number) => number} [ahead] the instant to show after so much time, where the clock is not even
 * @property {(session: Session) => Record<string, () => void>} keys
 * @property {[string, string[]][]} sheet of its keys
 * @property {() => Node[]} signs explained in the sheet
 * @property {(draft: any) => Node[]} form for a scenario of one's own
 * @property {(draft: any) => any} fitting the scenario a form has led to
 * @property {(session: Session) => string|null} [place] what a link keeps of the picture
 * @property {(session: Session, place: string) => void} [replace] and how that is taken up again
 */
/** @typedef {{fault: T.AnyFault, more?: T.AnyFault[], name: string, at?: number, said?: string, past?: number}} Action what is done to which node, and what `more` at the same moment as one act; `at` when not now, and how long `past` that it is looked at */
/** @typedef {HTMLElement & {connect(session: Session): void, restart(): void, update(): void, reveal?(): void}} Pane with `reveal` the selection is scrolled into sight */

/** Views by the order of their keys. A view that is not here yet comes with its scripts. */
export const VIEWS = /** @type {readonly string[]} */ (['queue', 'routing', 'unicast', 'swarm', 'meet']);

/** @type {Record<string, View>} */
const known = { queue };
/** @type {Record<string, () => Promise<Record<string, View>>>} */
const later = {
  routing: () => import('#lab/routing/view.js'),
  unicast: () => import('#lab/unicast/view.js'),
  swarm: () => import('#lab/swarm/view.js'),
  meet: () => import('#lab/meet/view.js'),
  // The worked example of CONTRIBUTING.md: a link opens it, no tab does.
  echo: () => import('#lab/echo/view.js'),
};

/** Whether there is such a view, example or not. @param {string} id */
export const hasView = (id) => Object.hasOwn(known, id) || Object.hasOwn(later, id);

/** A view, loaded when it is first wanted. @param {string} id @returns {Promise<View>} */
export async function viewOf(id) {
  known[id] ??= (await later[id]())[id];
  learn(known[id].strings ?? {}, id);
  return known[id];
}

/** All of them: what is recorded may tell of each. */
export const allViews = () => Promise.all(VIEWS.map(viewOf));

/** The view that a page without a link opens with: the easiest picture. */
export const OPENING = 'routing';

export { queue as firstView };

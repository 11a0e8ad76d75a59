/** Meetings: two people behind routers, a place at which they meet, and every knock as an arrow. */
import { World } from '#servent';
import { worldOf } from '#lab/core.js';
import { el } from '#lab/dom.js';
import { clock, count, NOTHING } from '#lab/format.js';
import { t } from '#lab/strings.js';
import { meet as strings } from '#lab/strings/meet.js';
import { form } from '#lab/meet/form.js';
import { action, arrowOf, gesturesOf, selectionOf } from '#lab/meet/gestures.js';
import { MeetRun } from '#lab/meet/run.js';
import { signs } from '#lab/meet/signs.js';
import { fate, kindOf, label, pathOf } from '#lab/meet/words.js';
import '#lab/meet/pane.js';

/** @import * as T from './types' */
/** @import { View } from '../views.js' */

/** Stories do not change. @type {any[]|undefined} */
let stories;

/** How long the future is looked into for what a link has selected: so many times so many milliseconds. */
const [AHEAD, SLICE_MS] = [20, 20];

const pane = () => /** @type {import('./pane.js').MeetPane|null} */ (document.querySelector('meet-pane'));

/** @param {T.MeetArrow} arrow @param {MeetRun} run @returns {[string, string][]} */
const arrowFacts = (arrow, run) => [
  [t('fact.what'), label(arrow)],
  [t('fact.from'), t('fact.from.of', { name: run.node(arrow.from)?.name ?? '', local: arrow.local, seen: arrow.seen, same: arrow.local === arrow.seen })],
  [t('fact.to'), arrow.target],
  [t('fact.sent'), clock(arrow.sent)],
  [t('fact.fate'), fate(arrow, run)],
  [t('fact.bytes'), String(arrow.bytes)],
];

/** @param {import('#servent').MeetNodeView|null} view @param {MeetRun} run @returns {[string, string][]} */
function nodeFacts(view, run) {
  if (!view) return [[t('fact.state'), t('card.down')]];
  if (view.kind === 'person') {
    return [
      [t('fact.local'), view.local], [t('fact.seen'), view.seen ?? t('card.unseen')],
      [t('fact.path'), `${t(`path.${pathOf(view)}`)}${view.path ? ` · ${view.path}` : ''}`],
      [t('fact.messages'), t('fact.messages.of', { wrote: view.wrote, read: view.read })],
    ];
  }
  if (view.kind === 'place') return [[t('fact.local'), view.at], [t('fact.meetings'), count(view.meetings)], [t('fact.relayed'), t('fact.relayed.of', { bytes: view.relayed_bytes })]];
  return [
    [t('fact.mapping'), t(`mapping.${view.mapping}`)], [t('fact.filtering'), t(`filtering.${view.filtering}`)],
    [t('fact.hairpin'), t(`hairpin.${view.hairpin}`)], [t('fact.timeout'), t('table.in', { s: view.timeout / 1e6 })],
    ...view.rows.slice(0, 8).map((row) => /** @type {[string, string]} */ ([row.inside, t('fact.row', { outside: row.outside, written: row.written.join(', '), s: Math.max(0, Math.ceil((row.expires - run.now) / 1e6)) })])),
  ];
}

/** @type {View} */
export const meet = {
  id: 'meet',
  speed: 0.1,
  strings,
  presets() { return stories ??= World.presets('meet'); },
  fromScenario: (scenario) => new MeetRun(worldOf('meet', scenario)),
  fromWorld: ({ scenario, claim }) => new MeetRun(worldOf('meet', scenario, claim)),
  variants: () => [],
  pane: () => el('meet-pane'),
  outcomes(run) {
    const { knocks, heard, dropped, wrote, read, first_direct: direct } = /** @type {MeetRun} */ (run).source.totals();
    return [
      ['knocks', knocks ? t('outcome.knocks.of', { knocks, heard }) : NOTHING],
      ['dropped', count(dropped)],
      ['took', direct === null ? t('outcome.took.none') : t('outcome.took.of', { us: direct })],
      ['read', wrote ? t('outcome.read.of', { read, wrote }) : NOTHING],
    ];
  },
  ahead(session, us) {
    const pace = pane()?.pace;
    const now = session.run?.now ?? 0;
    // Silence that is folded passes as quickly as it is long on the picture.
    return pace ? Math.max(now + 1, pace.to(pace.of(now) + us * pace.scale)) : now + us;
  },
  facts(session) {
    const run = /** @type {MeetRun|null} */ (session.run);
    const arrow = arrowOf(session);
    if (!run || session.selection.node === null) return [];
    return arrow ? arrowFacts(arrow, run) : nodeFacts(run.look(session.selection.node), run);
  },
  sign(session) {
    const run = /** @type {MeetRun|null} */ (session.run);
    const arrow = arrowOf(session);
    if (arrow) {
      const kind = arrow.fate === 'dropped' ? 'dropped' : kindOf(arrow, run?.nodes.find((n) => n.role === 'place')?.id ?? -1);
      return el('span', { class: 'badge', data: { meet: kind }, text: t(`sign.${kind}`) });
    }
    const role = run?.node(session.selection.node ?? -1)?.role;
    return role ? el('span', { class: 'badge', text: t(`role.${role}`) }) : null;
  },
  event(session) {
    const arrow = arrowOf(session);
    return arrow ? arrow.end_seq ?? arrow.seq : null;
  },
  gestures: gesturesOf,
  action,
  keys(session) {
    const up = session.run?.node(session.selection.node ?? -1)?.up;
    return {
      d: () => session.actions.gesture('drop'),
      r: () => session.actions.gesture('restart'),
      x: () => session.actions.gesture(up ? 'crash' : 'restart'),
      b: () => pane()?.toggleTables(),
      ArrowDown: () => pane()?.move(1),
      ArrowUp: () => pane()?.move(-1),
    };
  },
  sheet: [['drop', ['D']], ['arrows', ['↑', '↓']], ['tables', ['B']], ['forget', ['R']], ['crash', ['X']]],
  signs,
  form: /** @type {any} */ (form),
  fitting: (draft) => ({ ...draft, faults: [] }),

  place: ({ selection }) => (selection.arrow === undefined ? null : String(selection.arrow)),
  replace(session, place) {
    const run = /** @type {MeetRun|null} */ (session.run);
    // The arrow may lie ahead of the moment of the link.
    for (let tries = 0; run && tries < AHEAD && !run.explore(SLICE_MS); tries += 1);
    run?.refresh();
    const arrow = run?.arrow(Number(place));
    if (run && arrow) session.select(selectionOf(arrow, run));
  },
};

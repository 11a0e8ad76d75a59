/** Retransmission: two ends, a lossy way between them, and every datagram as an arrow. */
import { World } from '#servent';
import { worldOf } from '#lab/core.js';
import { el } from '#lab/dom.js';
import { clock, count, NOTHING } from '#lab/format.js';
import { t } from '#lab/strings.js';
import { unicast as strings } from '#lab/strings/unicast.js';
import { form } from '#lab/unicast/form.js';
import { arrowOf, action, gesturesOf, selectionOf, stalled } from '#lab/unicast/gestures.js';
import { UnicastRun } from '#lab/unicast/run.js';
import { signs } from '#lab/unicast/signs.js';
import { cargo, fate, kindOf, ranges } from '#lab/unicast/words.js';
import '#lab/unicast/pane.js';

/** @import * as T from './types' */
/** @import { Session } from '../session/session.js' */
/** @import { View } from '../views.js' */

/** @typedef {{name: string, profile: string, congestion?: T.UnicastVariant['congestion']}} Way */

/** Stories do not change. @type {any[]|undefined} */
let stories;

/** How long the future is looked into for what a link has selected: so many times so many milliseconds. */
const [AHEAD, SLICE_MS] = [20, 20];

/** @param {Session} session */
const laneOf = ({ selection, run, other }) => /** @type {UnicastRun|null} */ (selection.lane === 1 ? other : run);

/** @param {T.Arrow} arrow @param {UnicastRun} run @returns {[string, string][]} */
function arrowFacts(arrow, run) {
  const name = (/** @type {number} */ id) => run.node(id)?.name ?? '';
  return [
    [t('fact.way'), t('fact.way.of', { from: name(arrow.from), to: name(arrow.to), n: arrow.n })],
    [t('fact.carries'), cargo(arrow)],
    [t('fact.sent'), t('fact.at', { at: clock(arrow.sent - run.origin), guessed: run.guessed(arrow) === 'start' })],
    [t('fact.fate'), fate(arrow, run)],
    [t('fact.bytes'), String(arrow.bytes)],
  ];
}

/** @param {T.Margins} margins @returns {[string, string][]} */
function nodeFacts({ peers }) {
  return peers.flatMap(({ name, rtt, rto, sender, receiver }) => /** @type {[string, string][]} */ ([
    [t('fact.peer'), name],
    ...(sender ? [[t('fact.sender'), t('fact.sender.of', sender)], [t('fact.kept'), t('fact.kept.of', sender)], ...(sender.allowed_bytes === null ? [] : [[t('fact.pace'), t('fact.pace.of', sender)]])] : []),
    ...(receiver ? [[t('fact.receiver'), t('fact.receiver.of', receiver)], [t('fact.missing'), receiver.missing_count ? ranges(receiver.missing, 8) : t('fact.none')]] : []),
    [t('fact.rtt'), t('fact.rtt.of', { rtt, rto })],
  ]));
}

/** A scenario in which every node has the same congestion control. @param {T.UnicastScenario} scenario @param {NonNullable<Way['congestion']>} congestion */
const controlled = (scenario, congestion) => ({ ...scenario, config: { ...scenario.config, congestion }, nodes: scenario.nodes.map(({ name }) => ({ name })) });

/** The same flows before a buffer as it is, and a tenth of it: what differs between controllers is who gives way. @param {T.UnicastScenario} scenario */
const buffers = ({ link, ...scenario }) => [link.queue, Math.round(link.queue / 10)].map((queue) => ({ name: t('buffer.of', { us: (1e6 * queue) / link.rate }), scenario: { ...scenario, link: { ...link, queue } } }));

/** Whether a line is shared by senders with controllers of their own. @param {T.UnicastScenario} scenario */
const mixed = ({ shared, link, nodes }) => shared && link.rate > 0 && link.queue > 0 && nodes.some(({ congestion }) => congestion);

/** @type {View} */
export const unicast = {
  id: 'unicast',
  speed: 0.05,
  strings,
  presets() { return stories ??= World.presets('unicast'); },
  fromScenario: (scenario) => new UnicastRun(worldOf('unicast', scenario)),
  fromWorld: ({ scenario, claim }) => new UnicastRun(worldOf('unicast', scenario, claim)),
  fromTape(tape) {
    const ladder = tape.ladder();
    return ladder ? new UnicastRun(ladder) : null;
  },
  variants(scenario, told = false) {
    if (!scenario.variants?.length && mixed(scenario)) return told ? [] : buffers(scenario);
    const ways = scenario.variants?.length ? scenario.variants : told ? [] : ['unicast3', 'adaptive'].map((profile) => ({ name: profile, profile }));
    return ways.map((/** @type {Way} */ { profile, congestion }) => (congestion
      ? { name: t(`congestion.${congestion}`), scenario: controlled({ ...scenario, profile }, congestion) }
      : { name: t(`profile.${profile}`), scenario: { ...scenario, profile } }));
  },
  pane: () => el('unicast-pane'),
  outcomes(run) {
    const { written, delivered, last, datagrams, lost, again } = /** @type {UnicastRun} */ (run).source.totals();
    return [
      ['delivered', written ? t('outcome.delivered.of', { delivered, written, last: last === null ? '' : clock(last - run.origin) }) : NOTHING],
      ['datagrams', count(datagrams)],
      ['lost', count(lost)],
      ['again', count(again)],
    ];
  },
  ahead(session, us) {
    const pane = /** @type {import('./pane.js').UnicastPane|null} */ (document.querySelector('unicast-pane'));
    const pace = pane?.pace;
    const now = session.run?.now ?? 0;
    // Silence that is folded passes as quickly as it is long on the picture.
    return pace ? Math.max(now + 1, pace.to(pace.of(now) + us * pace.scale)) : now + us;
  },

  facts(session) {
    const run = laneOf(session);
    const arrow = arrowOf(session);
    if (!run) return [];
    return arrow ? arrowFacts(arrow, run) : session.selection.node === null ? [] : nodeFacts(run.margins(session.selection.node));
  },
  sign(session) {
    const arrow = arrowOf(session);
    const run = laneOf(session);
    const kind = arrow ? kindOf(arrow) : null;
    return kind ? el('span', { class: 'badge', data: { arrow: kind }, text: t(`sign.${kind}`) }) : el('span', { class: 'badge', text: run ? t(`profile.${run.profile}`) : '' });
  },
  event: (session) => arrowOf(session)?.seq ?? null,
  gestures: gesturesOf,
  action,
  keys(session) {
    const pane = /** @type {import('./pane.js').UnicastPane|null} */ (document.querySelector('unicast-pane'));
    const up = session.run?.node(session.selection.node ?? -1)?.up;
    return {
      d: () => session.actions.gesture('drop'),
      l: () => session.actions.gesture('delay'),
      m: () => session.actions.gesture('duplicate'),
      s: () => session.actions.gesture('send'),
      o: () => session.actions.gesture('close'),
      x: () => session.actions.gesture(up ? 'crash' : 'restart'),
      t: () => session.actions.gesture(stalled(session) ? 'resume' : 'stall'),
      ArrowDown: () => pane?.move(1),
      ArrowUp: () => pane?.move(-1),
    };
  },
  sheet: [['drop', ['D']], ['delay', ['L']], ['duplicate', ['M']], ['arrows', ['↑', '↓']], ['send', ['S']], ['close', ['O']], ['crash', ['X']], ['halt', ['T']]],
  signs,
  form,
  fitting: (draft) => ({ ...draft, faults: [] }),

  place: ({ selection }) => (selection.arrow === undefined ? null : `${selection.lane ?? 0}.${selection.arrow}`),
  replace(session, place) {
    const [lane, id] = place.split('.').map(Number);
    const run = /** @type {UnicastRun|undefined} */ (session.runs()[lane]);
    // The arrow may lie ahead of the moment of the link.
    for (let tries = 0; run && tries < AHEAD && !run.explore(SLICE_MS); tries += 1);
    run?.refresh();
    const arrow = run?.arrow(id);
    if (run && arrow) session.select(selectionOf(arrow, run, lane));
  },
};

/** The swarm: clients, pieces, and which client gives which one to which other. */
import { World } from '#servent';
import { worldOf } from '#lab/core.js';
import { el } from '#lab/dom.js';
import { bytes, clock, count, fixed, NOTHING, percent } from '#lab/format.js';
import { t } from '#lab/strings.js';
import { swarm as strings } from '#lab/strings/swarm.js';
import { fitting, form } from '#lab/swarm/form.js';
import { funnelOf } from '#lab/swarm/funnel.js';
import { action, clientOf, flowOf, gesturesOf, runOf, selectionOf } from '#lab/swarm/gestures.js';
import { SwarmRun } from '#lab/swarm/run.js';
import { SOURCE } from '#lab/swarm/grid.js';
import { signs } from '#lab/swarm/signs.js';
import { brief, nameOf } from '#lab/swarm/words.js';
import '#lab/swarm/pane.js';

/** @import * as T from './types' */
/** @import { View } from '../views.js' */

/** Stories do not change. @type {any[]|undefined} */
let stories;
/** The story in which the ledger is watched. */
const COUNTED = 'two-for-one';
const POLICIES = /** @type {T.SwarmPolicy[]} */ (['seed2004', 'adaptive']);
/** How long the future is looked into for what a link has selected: so many times so many milliseconds. */
const [AHEAD, SLICE_MS] = [20, 20];

const paneOf = () => /** @type {import('./pane.js').SwarmPane|null} */ (document.querySelector('swarm-pane'));

/** @param {SwarmRun} run @param {number} id @returns {[string, string][]} */
function transferFacts(run, id) {
  const flow = run.transfer(id);
  if (!flow) return [];
  const live = run.transfers.find((f) => f.id === id);
  const funnel = run.funnel(id);
  return [
    [t('fact.piece'), t('fact.piece.of', { piece: flow.piece, of: run.pieces, copies: run.rarity[flow.piece] ?? 0 })],
    [t('fact.from'), nameOf(run, flow.giver)],
    [t('fact.to'), nameOf(run, flow.taker)],
    [t('fact.there'), live ? t(`fact.there.${live.state}`, { share: percent(live.share) }) : t(funnel && funnel.at > run.now ? 'fact.there.later' : 'fact.there.over')],
    [t('fact.way'), t(Object.values(run.record(id).event)[0].put ? 'fact.way.put' : 'fact.way.get', { taker: nameOf(run, flow.taker), giver: nameOf(run, flow.giver) })],
    ...(funnel ? [/** @type {[string, string]} */ ([t('fact.decided'), clock(funnel.at - run.origin)]), /** @type {[string, string]} */ ([t('fact.counts'), t(funnel.charged ? 'fact.counts.yes' : 'fact.counts.no')])] : []),
  ];
}

/** @param {SwarmRun} run @param {number} node @returns {[string, string][]} */
function clientFacts(run, node) {
  const row = run.rows[node];
  const { counters } = run;
  if (!row) {
    return [
      [t('fact.policy'), t(`policy.${run.policy}.long`)],
      [t('fact.copies'), t('fact.copies.of', { copies: run.copies })],
      [t('fact.ratio'), t('fact.ratio.of', { ratio: counters.ratio / 1000 })],
      [t('fact.messages'), counters.messages_per_piece === 0 ? NOTHING : fixed(counters.messages_per_piece / 1000, 2)],
      [t('fact.stalled'), String(counters.stalled)],
      [t('fact.quarantined'), String(counters.quarantined)],
    ];
  }
  const ledger = run.source.ledger(node);
  return [
    [t('fact.mode'), t(row.active ? 'mode.active' : row.firewalled ? 'mode.walled' : 'mode.passive')],
    [t('fact.role'), t(`habit.${row.role}`)],
    [t('fact.holds'), t('fact.holds.of', { have: row.have, of: run.pieces })],
    [t('fact.ratio.own'), t('fact.ratio.own.of', row)],
    [t('fact.credit'), ledger ? t('numbers.ledger', ledger) : t('fact.credit.of', row)],
    [t('fact.now'), brief(row, true)],
    [t('fact.rate'), row.rate > 0 ? `${bytes(row.rate)}/s` : t('fact.rate.none')],
    [t('fact.running'), t('fact.running.of', row)],
    [t('fact.failures'), String(Math.round(row.failures * 10) / 10)],
  ];
}

/** @type {View} */
export const swarm = {
  id: 'swarm',
  speed: 1,
  strings,
  presets() { return stories ??= World.presets('swarm'); },
  fromScenario: (scenario) => new SwarmRun(worldOf('swarm', scenario)),
  fromWorld: ({ scenario, claim }) => new SwarmRun(worldOf('swarm', scenario, claim)),
  fromTape(tape) {
    const matrix = 'matrix' in tape ? tape.matrix() : null;
    return matrix ? new SwarmRun(matrix) : null;
  },
  variants(scenario, told = false) {
    // A story under the old rules is about them, so it is told beside the others.
    if (told && scenario.swarm.policy !== POLICIES[0]) return [];
    const ways = scenario.variants?.length ? scenario.variants : told ? [] : POLICIES.map((policy) => ({ name: policy, policy }));
    return ways.map((/** @type {{policy: T.SwarmPolicy}} */ { policy }) => ({ name: t(`policy.${policy}`), scenario: { ...scenario, swarm: { ...scenario.swarm, policy } } }));
  },
  pane: () => el('swarm-pane'),
  // The story is about a sum: that of the first client is shown.
  opened(session) {
    const run = runOf(session);
    if (run && session.preset === COUNTED) session.select(clientOf(run, 0, 0));
  },
  outcomes(run) {
    const { counters, copies } = /** @type {SwarmRun} */ (run);
    return [
      ['served', t('outcome.served.of', counters)],
      // Before all is there a share of the time means nothing.
      ['finish', counters.finished || (counters.bound === 0 && counters.at > 0) ? t('outcome.finish.of', counters) : ''],
      ['copies', copies > 0 ? t('outcome.copies.of', { copies }) : NOTHING],
      ['ratio', t('outcome.ratio.of', counters)],
      ['stalled', count(counters.stalled)],
    ];
  },

  facts(session) {
    const run = runOf(session);
    const { node, transfer } = session.selection;
    if (!run) return [];
    run.refresh();
    return transfer !== undefined ? transferFacts(run, transfer) : node === null ? [] : clientFacts(run, node);
  },
  sign(session) {
    const run = runOf(session);
    const { node, transfer } = session.selection;
    if (!run) return null;
    if (transfer !== undefined) return el('span', { class: 'badge', text: t(flowOf(session)?.giver === SOURCE ? 'sign.source' : 'sign.transfer') });
    const row = node === null ? undefined : run.rows[node];
    return el('span', { class: 'badge', text: row ? t(row.active ? 'mode.active' : 'mode.passive') : t(`policy.${run.policy}`) });
  },
  event: (session) => session.selection.transfer ?? null,
  about(session) {
    const run = runOf(session);
    const { transfer } = session.selection;
    const funnel = run && transfer !== undefined ? run.funnel(transfer) : null;
    return run && funnel ? funnelOf(run, funnel) : null;
  },
  gestures: gesturesOf,
  action,
  keys(session) {
    const gesture = (/** @type {string[]} */ ...names) => () => {
      const offered = gesturesOf(session).map((g) => g.gesture);
      session.actions.gesture(names.find((name) => offered.includes(name)) ?? names[0]);
    };
    return {
      x: gesture('kill', 'restart', 'restart_coordinator'),
      t: gesture('stall', 'resume'),
      p: gesture('passive', 'active'),
      w: gesture('firewall', 'open'),
      k: gesture('corrupt', 'honest'),
      d: gesture('cut', 'heal'),
      ArrowDown: () => paneOf()?.move(1),
      ArrowUp: () => paneOf()?.move(-1),
    };
  },
  sheet: [['rows', ['↑', '↓']], ['cells', ['↑', '↓', '←', '→']], ['kill', ['X']], ['halt', ['T']], ['mode', ['P']], ['firewall', ['W']], ['corrupt', ['K']], ['sever', ['D']]],
  signs,
  form,
  fitting,

  place: ({ selection }) => (selection.transfer === undefined ? (selection.lane ? `${selection.lane}` : null) : `${selection.lane ?? 0}.${selection.transfer}`),
  replace(session, place) {
    const [lane, id] = place.split('.').map(Number);
    const run = /** @type {SwarmRun|undefined} */ (session.runs()[lane]);
    if (!run) return;
    if (Number.isNaN(id) || id === undefined) return session.select({ ...session.selection, lane });
    // The transfer may lie ahead of the moment of the link.
    for (let tries = 0; tries < AHEAD && !run.explore(SLICE_MS); tries += 1);
    const selection = selectionOf(run, id, lane);
    if (selection) session.select(selection);
    return undefined;
  },
};

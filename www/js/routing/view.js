/** Routing: an overlay of nodes, and every message on its way. */
import { Routing, World } from '#servent';
import { worldOf } from '#lab/core.js';
import { el } from '#lab/dom.js';
import { clock, count, fixed, NOTHING, percent, span } from '#lab/format.js';
import { t } from '#lab/strings.js';
import { routing as strings } from '#lab/strings/routing.js';
import { TWICE } from '#lab/routing/flights.js';
import { fitting, form } from '#lab/routing/form.js';
import { action, gesturesOf, runOf, selected, selectionOf } from '#lab/routing/gestures.js';
import { living } from '#lab/routing/lives.js';
import { KINDS } from '#lab/routing/look.js';
import { RoutingRun } from '#lab/routing/run.js';
import { signs } from '#lab/routing/signs.js';
import { cargo, fateWords } from '#lab/routing/words.js';
import '#lab/routing/pane.js';

/** @import { RoutingPane } from './pane.js' */
/** @import { View } from '../views.js' */

/** Stories do not change. @type {any[]|undefined} */
let stories;

/** Stories about how long tables live are told beside longer ones. */
const LIVES = ['route-expired', 'late-push'];
const LONGER = 4;
/** Silence passes in so many frames, whatever its length. */
const HURRY = 45;
/** How far the future is looked into for what a link has selected: so many times so many milliseconds. */
const [AHEAD, SLICE_MS] = [20, 20];

const pane = () => /** @type {RoutingPane|null} */ (document.querySelector('routing-pane'));

/** A node: what it did, and what it remembers, with how long yet. @param {RoutingRun} run @param {number} node @returns {[string, string, number?][]} */
function nodeFacts(run, node) {
  const { up, total, rows } = run.tables(node);
  const { sent, useful, duplicate, dropped, lost } = run.counters(node);
  const { now } = run;
  return [
    [t('fact.role'), t(up ? `role.${run.nodes[node].role}` : 'fact.down')],
    ...(run.closed[node] ? [/** @type {[string, string]} */ ([t('fact.firewall'), t('fact.firewall.closed')])] : []),
    [t('fact.messages'), t('fact.messages.of', { sent, useful, twice: duplicate, dropped, lost })],
    [t('fact.remembers'), t('fact.remembers.of', { n: total })],
    ...rows.map((row) => ({ ...row, left: Math.max(0, (row.expires_at ?? now) - now), life: (row.expires_at ?? now) - row.born_at })).map((row) => /** @type {[string, string, number]} */ ([
      t(`row.${row.kind}`, { words: row.words ?? row.id.slice(0, 8) }),
      t(row.via === null ? 'row.own' : row.gone ? 'row.gone' : 'row.via', { name: row.name, left: span(row.left) }),
      Math.min(1, row.left / Math.max(1, row.life)),
    ])),
    ...(total > rows.length ? [/** @type {[string, string]} */ ([t('row.more'), count(total - rows.length)])] : []),
  ];
}

/** @param {RoutingRun} run @param {number} i @returns {[string, string][]} */
function messageFacts(run, i) {
  const { from, to, sent, guid, seq } = run.flights;
  const { ttl, hops, bytes } = /** @type {any} */ (run.record(seq[i])?.event)?.message ?? {};
  return [
    [t('fact.way'), t('fact.way.of', { from: run.name(from[i]), to: run.name(to[i]) })],
    [t('fact.carries'), cargo(run, i)],
    [t('fact.sent'), clock(sent[i] - run.origin)],
    [t('fact.fate'), fateWords(run, i)],
    ...(ttl === undefined ? [] : /** @type {[string, string][]} */ ([[t('fact.ttl'), t('fact.ttl.of', { ttl, hops })], [t('fact.bytes'), String(bytes)]])),
    ...(guid[i] < 0 ? [] : /** @type {[string, string][]} */ ([[t('fact.guid'), String(run.source.guidHex(guid[i])).slice(0, 16)]])),
  ];
}

/** @param {RoutingRun} run @param {number} i @returns {[string, string][]} */
function linkFacts(run, i) {
  const { flights, links, now } = run;
  let [sent, twice] = [0, 0];
  const end = flights.firstFrom(now + 0.5);
  for (let k = 0; k < end; k += 1) {
    if (flights.link[k] !== i) continue;
    sent += 1;
    if (flights.fate[k] === TWICE && flights.due[k] <= now) twice += 1;
  }
  return [
    [t('fact.state'), t(links.up[i] ? 'fact.whole' : 'fact.cut')],
    [t('fact.latency'), t('fact.latency.of', { ms: Math.round(run.source.latencies()[i] / 1000) })],
    [t('fact.messages'), t('fact.link.of', { sent, twice })],
  ];
}

/** @type {View} */
export const routing = {
  id: 'routing',
  speed: 0.05,
  strings,
  presets() { return stories ??= World.presets('routing'); },
  fromScenario: (scenario) => new RoutingRun(worldOf('routing', scenario), Routing.codes().fates),
  fromWorld: ({ scenario, claim }) => new RoutingRun(worldOf('routing', scenario, claim), Routing.codes().fates),
  fromTape(tape) {
    const overlay = 'overlay' in tape ? tape.overlay() : null;
    return overlay ? new RoutingRun(overlay, Routing.codes().fates) : null;
  },
  variants(scenario, told = false) {
    if (told && !LIVES.includes(scenario.id)) return [];
    const life = Number(scenario.config?.query_life ?? 600e6);
    return [life, life * LONGER].map((us, i) => ({ name: t('lives.name', { life: span(us), most: span(2 * us) }), scenario: i === 0 ? scenario : living(scenario, us) }));
  },
  pane: () => el('routing-pane'),
  outcomes(run) {
    const { messages, hits, found, existing, reached, nodes } = /** @type {RoutingRun} */ (run).source.totals();
    return [
      ['messages', count(messages)],
      ['cost', hits ? fixed(messages / hits, 1) : NOTHING],
      ['found', existing ? t('outcome.found.of', { found, existing }) : NOTHING],
      ['reached', reached ? percent(reached / nodes) : NOTHING],
    ];
  },
  /** Silence passes quickly. */
  ahead(session, us) {
    const now = session.run?.now ?? 0;
    const next = pane()?.departure() ?? null;
    return next === null ? now + us : Math.min(Math.max(next, now + us), now + Math.max(us, (next - now) / HURRY, us * 4));
  },

  facts(session) {
    const run = runOf(session);
    const thing = selected(session);
    if (!run || !thing) return [];
    return thing.kind === 'node' ? nodeFacts(run, thing.i) : thing.kind === 'link' ? linkFacts(run, thing.i) : messageFacts(run, thing.i);
  },
  sign(session) {
    const run = runOf(session);
    const thing = selected(session);
    if (!run || thing?.kind !== 'message') return null;
    const kind = KINDS[run.flights.kind[thing.i]];
    return el('span', { class: 'badge', data: { message: kind }, text: t(`kind.${kind}`) });
  },
  event(session) {
    const run = runOf(session);
    const thing = selected(session);
    return run && thing?.kind === 'message' ? run.verdict(thing.i) : null;
  },
  gestures: gesturesOf,
  action,
  keys(session) {
    const here = selected(session);
    const run = runOf(session);
    return {
      x: () => session.actions.gesture(here?.kind === 'node' && run?.up[here.i] === 0 ? 'restart' : 'kill'),
      d: () => session.actions.gesture(here?.kind === 'link' && run?.links.up[here.i] === 0 ? 'heal' : 'cut'),
      s: () => session.actions.gesture('search'),
      f: () => session.actions.gesture('flood'),
      w: () => session.actions.gesture(here?.kind === 'node' && run?.closed[here.i] ? 'open' : 'firewall'),
      p: () => (here?.kind === 'node' ? session.actions.gesture('partition') : pane()?.draws(true)),
      m: () => session.actions.gesture('mend'),
      n: () => pane()?.link(),
      g: () => pane()?.next(),
      ArrowDown: () => pane()?.move(0, 1),
      ArrowUp: () => pane()?.move(0, -1),
      '+': () => pane()?.enlarge(1.5),
      '-': () => pane()?.enlarge(1 / 1.5),
      0: () => pane()?.enlarge(0),
    };
  },
  sheet: [['neighbour', ['↑', '↓']], ['link.next', ['N']], ['follow', ['G']], ['cut.link', ['D']], ['firewall', ['W']], ['partition', ['P']], ['mend', ['M']], ['kill', ['X']], ['search.here', ['S']], ['flood', ['F']], ['zoom', ['+', '-', '0']]],
  signs,
  form,
  fitting,

  place(session) {
    const { follow } = pane() ?? {};
    const { lane = 0, ticket } = session.selection;
    const parts = [typeof follow === 'number' ? `g${follow}` : '', ticket ? `${ticket}.${lane}` : ''].filter(Boolean);
    return parts.length ? parts.join('_') : null;
  },
  replace(session, place) {
    for (const part of place.split('_')) {
      const number = Number(part.slice(1).split('.')[0]);
      const lane = Number(part.split('.')[1] ?? 0);
      if (part.startsWith('g')) pane()?.followed(number);
      const run = /** @type {RoutingRun|undefined} */ (session.runs()[lane]);
      if (run && part.startsWith('l') && number < run.links.count) session.select(selectionOf({ kind: 'link', i: number }, run, lane));
      if (!run || !part.startsWith('m')) continue;
      // The message may lie ahead of the moment of the link.
      for (let tries = 0; tries < AHEAD && !run.explore(SLICE_MS); tries += 1);
      run.learn(true);
      const i = run.flights.place(number);
      if (i >= 0) session.select(selectionOf({ kind: 'message', i }, run, lane));
    }
  },
};

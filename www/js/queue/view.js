/** The queue: upload slots, the line before them, and what can happen to those in it. */
import { World } from '#servent';
import { worldOf } from '#lab/core.js';
import { el } from '#lab/dom.js';
import { clock, count, lasted, NOTHING, percent, span } from '#lab/format.js';
import { t } from '#lab/strings.js';
import { badge } from '#lab/queue/card.js';
import { form } from '#lab/queue/form.js';
import { GESTURES } from '#lab/queue/menu.js';
import { QueueRun } from '#lab/queue/run.js';
import { doing } from '#lab/session/run.js';
import '#lab/queue/pane.js';

/** @import * as T from '../types' */
/** @import { Session } from '../session/session.js' */
/** @import { View } from '../views.js' */

/** Stories do not change. @type {T.Preset<T.QueueScenario>[]|undefined} */
let stories;

/** Ten minutes. */
const SLEEP_US = 600e6;

/** @param {Session} session */
const runOf = (session) => /** @type {QueueRun|null} */ (session.run);

/** @param {string} gesture @param {number} node @param {number} server @returns {T.AnyFault} */
function faultOf(gesture, node, server) {
  if (gesture === 'cut') return { cut: { a: server, b: node } };
  if (gesture === 'sleep') return { sleep: { node, length: SLEEP_US } };
  return doing(gesture, { node });
}

/** True when the selection was stalled on this branch and goes on no more. @param {Session} session */
function stalled(session) {
  const { node } = session.selection;
  return Boolean(/** @type {T.At<T.Fault>[]} */ (session.actions.faults()).findLast((f) => (f.stall ?? f.resume)?.node === node)?.stall);
}

/** The same arrivals under other rules: all clients speak one language, or the servers tell other times. @param {any} scenario @param {boolean} [told] */
function variants(scenario, told = false) {
  // Both policies are there for a person who wants them side by side; a story opens alone.
  if (told && !scenario.variants?.some((/** @type {{dialect?: string}} */ { dialect }) => dialect)) return [];
  const ways = scenario.variants?.length ? scenario.variants : [{ dialect: 'active' }, { dialect: 'parq' }];
  return ways.slice(0, 2).map((/** @type {{dialect?: string, policy?: string}} */ { dialect, policy }) => {
    const clients = dialect ? scenario.clients.map((/** @type {T.ClientGroup} */ group) => ({ ...group, dialect })) : scenario.clients;
    const servers = policy
      ? scenario.servers.map((/** @type {any} */ server) => ({ ...server, queue: { ...server.queue, policy } }))
      : scenario.servers;
    return { name: t(`compare.${policy ?? dialect}`), scenario: { ...scenario, clients, servers } };
  });
}

/** @param {QueueRun} run @param {Session} session @returns {[string, string][]} */
function placeOf(run, { selection }) {
  const { queue } = run.inspect(run.server.id) ?? { queue: { cards: [], uploads: [] } };
  const name = (/** @type {{ticket: string, peer: string}} */ c) => c.ticket === selection.ticket || run.nameOf(c.ticket, c.peer) === selection.name;
  const card = /** @type {T.Card|undefined} */ (queue.cards.find(name));
  const slot = /** @type {T.SlotCard|undefined} */ (queue.uploads.find(name));
  const peer = card?.peer ?? slot?.peer;
  /** @type {[string, string][]} */
  const facts = peer ? [[t('inspect.address'), peer]] : [];
  if (card) {
    facts.push([t('inspect.position'), t('inspect.position.of', { position: card.position, length: queue.length, told: card.told })],
      [t('inspect.window'), t('inspect.window.of', { from: clock(card.not_before - run.origin), to: clock(card.deadline - run.origin) })],
      [t('inspect.wire'), t(card.present ? 'inspect.wire.kept' : 'inspect.wire.none')],
      [t('inspect.id'), card.ticket]);
  } else if (slot) {
    facts.push([t('inspect.position'), `${t('lane.slots')}, ${span(run.now - slot.since)}`], [t('inspect.file'), slot.file], [t('inspect.id'), slot.ticket]);
  }
  return facts;
}

/** How long they waited; what is too short to be a number is said in words. @param {number} median @param {number} most */
function waits(median, most) {
  const none = lasted(0);
  if (lasted(most) === none) return NOTHING;
  return t(lasted(median) === none ? 'outcome.waits.none' : 'outcome.waits.of', { median: lasted(median), most: lasted(most) });
}

/** @type {View} */
export const queue = {
  id: 'queue',
  speed: 20,
  presets() { return stories ??= World.presets('queue'); },
  fromScenario: (scenario) => new QueueRun(worldOf('queue', scenario)),
  fromWorld: ({ scenario, claim }) => new QueueRun(worldOf('queue', scenario, claim)),
  // A queue is that of one servent.
  fromTape: (tape) => ('lanes' in tape ? new QueueRun(tape) : null),
  variants,
  pane: () => el('queue-pane'),
  outcomes(run) {
    const totals = /** @type {QueueRun} */ (run).totals();
    if (!totals) return [];
    const { served, lost, wait_median: median, wait_most: most, idle, used } = totals;
    return [
      ['served', count(served)],
      ['waits', waits(median, most)],
      // Before the first slot is given none stands idle.
      ['idle', served || idle ? lasted(idle) : NOTHING],
      ['used', used === null ? NOTHING : percent(used / 1000)],
      ['lost', count(lost)],
    ];
  },

  facts(session) {
    const run = runOf(session);
    if (!run) return [];
    const facts = placeOf(run, session);
    const { node } = session.selection;
    const fetch = /** @type {T.FetchView|undefined} */ (node === null ? undefined : run.inspect(node)?.fetches?.[0]);
    if (fetch) {
      facts.push([t('inspect.download'), t('inspect.download.of', { have: fetch.have, size: fetch.size, state: fetch.state })]);
      for (const source of fetch.sources) facts.push([t('inspect.source'), source.state]);
    }
    return facts;
  },
  sign({ run, selection }) {
    const node = selection.node === null ? undefined : run?.node(selection.node);
    return node?.role === 'client' ? badge(node.dialect ?? 'passive') : null;
  },
  gestures({ selection, run }) {
    if (selection.node === null && selection.ticket === null) return run ? [{ gesture: 'restart', text: t('gesture.restart.server'), key: 'X' }] : [];
    return GESTURES.map(([gesture, key]) => ({ gesture, text: t(`gesture.${gesture}`), key }));
  },
  action(gesture, target, session) {
    const run = runOf(session);
    const node = target.node ?? (gesture === 'restart' ? run?.server.id : null);
    if (!run || node === null || node === undefined) return null;
    const ofServer = gesture === 'restart' && node === run.server.id;
    return { fault: faultOf(gesture, node, run.server.id), name: run.node(node)?.name ?? '', said: ofServer ? 'gesture.restart.server' : undefined };
  },

  keys: (session) => ({
    d: () => session.actions.gesture('cut'),
    a: () => session.actions.gesture('ask_now'),
    z: () => session.actions.gesture('sleep'),
    t: () => session.actions.gesture(stalled(session) ? 'resume' : 'stall'),
    x: () => session.actions.gesture('restart'),
  }),
  sheet: [['cut', ['D']], ['ask', ['A']], ['sleep', ['Z']], ['stall', ['T']], ['restart', ['X']], ['cards', ['↑', '↓']]],
  signs: () => [
    el('p', { text: t('keys.signs.window') }),
    el('ul', { class: 'signs' }, ...['early', 'open', 'lost'].map((kind) => el('li', {}, el('span', { class: 'bar', 'aria-hidden': 'true' }, el('span', { class: kind })), t(`queue.legend.${kind}`))),
      el('li', {}, el('span', { class: 'bar', 'aria-hidden': 'true' }, el('span', { class: 'now' })), t('keys.signs.now')),
      el('li', {}, el('span', { class: 'card-sign', 'aria-hidden': 'true' }), t('keys.signs.cut')),
      ...(/** @type {const} */ (['active', 'parq', 'parq11', 'passive'])).map((d) => el('li', {}, badge(d), t(`dialect.${d}.long`)))),
  ],
  form,
  /** Faults that name nodes which still exist. */
  fitting(draft) {
    const nodes = draft.servers.length + draft.clients.reduce((/** @type {number} */ sum, /** @type {T.ClientGroup} */ g) => sum + g.count, 0);
    const faults = draft.faults.filter((/** @type {T.AnyFault & {at: number}} */ { at: _, ...fault }) => Object.values(fault).every((f) => [f.node, f.a, f.b].every((n) => n === undefined || n < nodes)));
    return { ...draft, faults };
  },

  place(session) {
    const run = runOf(session);
    return run && run.shown !== null && run.servers.length > 1 ? String(run.shown) : null;
  },
  replace(session, place) {
    const run = runOf(session);
    if (run) run.shown = Number(place);
    session.emit('run');
  },
};

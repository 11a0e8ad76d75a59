/** The form of a scenario of one's own. */
import { el } from '#lab/dom.js';
import { number } from '#lab/panels/fields.js';
import { t } from '#lab/strings.js';

/** @import * as T from './types' */
/** A group in the form: who is behind a wall is a share of it. @typedef {T.PeerGroup & {share: number, wall: string}} Group */

/** Fields of the file and its source: key, unit, least value. */
const FILE = /** @type {const} */ ([['pieces', 1, 1], ['chunk', 1e3, 1], ['source_up', 1e3, 1], ['source_slots', 1, 1]]);
/** Fields of a group. */
const GROUP = /** @type {const} */ ([['count', 1, 1], ['up', 1e3, 1], ['down', 1e3, 1], ['latency', 1e3, 0], ['first', 1e6, 0], ['spacing', 1e6, 0]]);
const HABITS = /** @type {const} */ (['honest', 'free_rider', 'corrupt', 'liar', 'silent']);
/** How those behind a wall are told: they know it, or find out. */
const WALLS = /** @type {const} */ (['passive', 'firewalled']);

/** A choice that writes back. @param {string} label @param {string} name @param {readonly string[]} ids @param {string} now @param {(id: string) => string} words @param {(id: any) => void} take */
function choice(label, name, ids, now, words, take) {
  const node = el('select', { name }, ...ids.map((id) => el('option', { value: id, text: words(id), selected: id === now })));
  node.addEventListener('change', () => take(node.value));
  return el('label', { class: 'field' }, label, node);
}

/** @param {Omit<T.SwarmScenario, 'clients'> & {clients: Group[]}} draft */
export function form(draft) {
  // Those who cannot be connected to are a share of a group here, and a group of their own in the scenario.
  draft.clients = joined(draft.clients);
  const rows = el('div', {});
  const draw = () => rows.replaceChildren(...draft.clients.map((group, i) => row(group, i)));
  /** @param {Group} group @param {number} i */
  const row = (group, i) => el('div', { class: 'group-row', role: 'group', 'aria-label': t('form.group.nth', { n: i + 1 }) },
    ...GROUP.map(([key, unit, least]) => number(key, group, unit, least, `swarm.${key}`)),
    number('share', group, 1, 0, 'swarm.share'),
    choice(t('form.wall'), 'wall', WALLS, group.wall === 'firewalled' ? 'firewalled' : 'passive', (id) => t(`form.wall.${id}`), (id) => { group.wall = id; }),
    choice(t('form.habit'), 'habit', HABITS, group.habit, (id) => t(`habit.${id}`), (id) => { group.habit = id; }),
    el('button', { class: 'button small', type: 'button', disabled: draft.clients.length < 2, text: t('scenario.remove'), on: { click: () => { draft.clients.splice(i, 1); draw(); } } }));
  draw();
  return [
    el('fieldset', {}, el('legend', { text: t('form.file') }), el('div', { class: 'form-grid' },
      choice(t('form.policy'), 'policy', ['adaptive', 'seed2004'], draft.swarm.policy, (id) => t(`policy.${id}`), (id) => { draft.swarm.policy = id; }),
      ...FILE.map(([key, unit, least]) => number(key, draft, unit, least, `swarm.${key}`)), number('ratio', draft.swarm, 1e3, 1, 'swarm.ratio'))),
    el('fieldset', {}, el('legend', { text: t('scenario.clients') }), rows,
      el('button', { class: 'button small add-group', type: 'button', text: t('scenario.add'), on: { click: () => { draft.clients.push(structuredClone(draft.clients[draft.clients.length - 1])); draw(); } } })),
  ];
}

/** Groups that differ only in their walls are one, with a share of walled ones. @param {Group[]} groups @returns {Group[]} */
function joined(groups) {
  /** @type {Group[]} */
  const list = [];
  for (const group of groups) {
    const walled = group.passive || group.firewalled;
    const last = list.at(-1);
    const alike = last && walled && last.share === 0 && JSON.stringify({ ...last, count: 0, share: 0, wall: '' }) === JSON.stringify({ ...group, passive: false, firewalled: false, count: 0, share: 0, wall: '' });
    if (last && alike) Object.assign(last, { count: last.count + group.count, share: Math.round((100 * group.count) / (last.count + group.count)), wall: group.firewalled ? 'firewalled' : 'passive' });
    else list.push({ ...group, passive: false, firewalled: false, share: walled ? 100 : 0, wall: group.firewalled ? 'firewalled' : 'passive' });
  }
  return list;
}

/** The scenario a form has led to: without the faults of the story, and with every share a group. @param {any} draft */
export function fitting(draft) {
  const clients = draft.clients.flatMap((/** @type {Group} */ { share = 0, wall, ...group }) => {
    const walled = Math.min(group.count, Math.round((group.count * Number(share)) / 100));
    const parts = [{ ...group, count: group.count - walled }, { ...group, count: walled, [String(wall)]: true }];
    return parts.filter((part) => part.count > 0);
  });
  return { ...draft, clients, faults: [], variants: [] };
}

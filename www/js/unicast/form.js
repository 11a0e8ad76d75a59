/** The form of a scenario of one's own. */
import { el } from '#lab/dom.js';
import { number } from '#lab/panels/fields.js';
import { t } from '#lab/strings.js';

/** @import * as T from './types' */

/** Fields of the link: key, unit, least value, and what its label is called elsewhere. */
const LINK = /** @type {const} */ ([['latency', 1e3, 0], ['jitter', 1e3, 0], ['mtu', 1, 0], ['rate', 1e3, 0, 'line.rate'], ['queue', 1, 0, 'line.queue']]);
/** Shares of what is sent, in per cent. */
const SHARES = /** @type {const} */ (['loss', 'duplicate', 'reorder']);
/** A ratio out of so many. */
const WHOLE = 1000;
const SEND = /** @type {const} */ ([['count', 1, 1], ['size', 1, 1], ['every', 1e3, 0]]);

/** What may control how fast is sent. */
const CONTROLS = /** @type {const} */ (['none', 'cubic', 'bbr']);
/** A node that is added, and how many a form has room for. */
const [NAMES, MOST] = ['ABCDEFGH', 4];
/** A line on which two can compete, where it was as fast as one likes. */
const LINE = { rate: 250_000, queue: 30_000, latency: 30_000 };
/** What is sent there: so many messages of so many bytes, at once. */
const FILE = { count: 400, size: 1200, every: 0 };

/** @param {T.UnicastScenario} draft */
export function form(draft) {
  const profile = el('select', { name: 'profile' }, ...['unicast3', 'adaptive'].map((id) => el('option', { value: id, text: t(`profile.${id}`), selected: id === draft.profile })));
  profile.addEventListener('change', () => { draft.profile = profile.value; });
  /** Only the adaptive profile heeds a controller, and a variant would have another one. */
  const adapt = () => {
    draft.profile = profile.value = 'adaptive';
    draft.variants = [];
  };
  const shared = el('input', { type: 'checkbox', name: 'shared', checked: draft.shared === true });
  shared.addEventListener('change', () => { draft.shared = shared.checked; });
  const line = el('div', { class: 'form-grid' });
  const sends = el('div', { class: 'form-sends' });
  const show = () => {
    shared.checked = draft.shared === true;
    line.replaceChildren(el('label', { class: 'field' }, t('form.profile'), profile), ...LINK.filter(([key]) => typeof draft.link[key] === 'number').map(([key, unit, least, label]) => number(key, draft.link, unit, least, label)), ...SHARES.map((key) => share(key, draft.link)));
    const list = draft.script.flatMap((step) => step.send ?? []);
    const more = el('button', { class: 'button small', type: 'button', data: { form: 'second' }, text: t('form.second'), on: { click: () => { second(draft); adapt(); show(); } } });
    sends.replaceChildren(...list.map((send, i) => sent(draft, send, t('form.sends', { from: draft.nodes[send.from]?.name ?? '', nth: i + 1, of: list.length }), adapt)), ...(list.length && draft.nodes.length < MOST ? [more] : []));
  };
  show();
  return [el('fieldset', {}, el('legend', { text: t('form.way') }), line, el('label', { class: 'check' }, shared, t('form.shared'))), sends];
}

/** One that sends: what, and what controls how fast. @param {T.UnicastScenario} draft @param {T.Send} send @param {string} legend @param {() => void} adapt */
function sent(draft, send, legend, adapt) {
  const node = draft.nodes[send.from];
  const now = node.congestion ?? draft.config.congestion;
  const control = el('select', { name: `control.${send.from}` }, ...CONTROLS.map((id) => el('option', { value: id, text: t(`congestion.${id}`), selected: id === now })));
  control.addEventListener('change', () => {
    node.congestion = control.value;
    adapt();
  });
  return el('fieldset', {}, el('legend', { text: legend }),
    el('div', { class: 'form-grid' }, ...SEND.filter(([key]) => typeof send[key] === 'number').map(([key, unit, least]) => number(key, send, unit, least, `send.${key}`)), typeof now === 'string' ? el('label', { class: 'field' }, t('form.control'), control) : null));
}

/** Another node sends to where the first one does, over one line: one of them measures, the other waits for losses. @param {T.UnicastScenario} draft */
function second(draft) {
  const first = draft.script.findIndex((step) => step.send);
  const step = draft.script[first];
  if (!step?.send) return;
  const { from, to } = step.send;
  const node = draft.nodes.length;
  if (!draft.link.rate) {
    Object.assign(draft.link, LINE);
    Object.assign(step.send, FILE);
    // What it answers needs no line of its own.
    draft.ways = draft.nodes.map((_, id) => id).filter((id) => id !== to).map((id) => back(to, id));
  }
  draft.shared = true;
  draft.nodes[from].congestion ??= 'bbr';
  draft.nodes.push({ name: NAMES[node], congestion: 'cubic' });
  draft.ways.push(back(to, node));
  draft.script.splice(first + 1, 0, { ...step, send: { ...step.send, from: node } });

  /** @param {number} one @param {number} other @returns {T.PathDirection} */
  function back(one, other) { return { from: one, to: other, link: { ...draft.link, rate: 0, queue: 0 } }; }
}

/** @param {typeof SHARES[number]} key @param {T.DatagramLink} link */
function share(key, link) {
  const [a, b] = link[key];
  const input = el('input', { type: 'number', name: key, min: 0, max: 90, step: 'any', value: (100 * a) / Math.max(1, b), required: true });
  input.addEventListener('input', () => { if (input.checkValidity()) link[key] = [Math.round(input.valueAsNumber * (WHOLE / 100)), WHOLE]; });
  return el('label', { class: 'field' }, t(`form.${key}`), input);
}

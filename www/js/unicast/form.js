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

/** @param {T.UnicastScenario} draft */
export function form(draft) {
  const profile = el('select', { name: 'profile' }, ...['unicast3', 'adaptive'].map((id) => el('option', { value: id, text: t(`profile.${id}`), selected: id === draft.profile })));
  profile.addEventListener('change', () => { draft.profile = profile.value; });
  const sends = draft.script.flatMap((step) => step.send ?? []);
  return [
    el('fieldset', {}, el('legend', { text: t('form.way') }),
      el('div', { class: 'form-grid' }, el('label', { class: 'field' }, t('form.profile'), profile), ...LINK.filter(([key]) => typeof draft.link[key] === 'number').map(([key, unit, least, label]) => number(key, draft.link, unit, least, label)), ...SHARES.map((key) => share(key, draft.link)))),
    ...sends.map((send, i) => el('fieldset', {}, el('legend', { text: t('form.sends', { from: draft.nodes[send.from]?.name ?? '', nth: i + 1, of: sends.length }) }),
      el('div', { class: 'form-grid' }, ...SEND.filter(([key]) => typeof send[key] === 'number').map(([key, unit, least]) => number(key, send, unit, least, `send.${key}`))))),
  ];
}

/** @param {typeof SHARES[number]} key @param {T.DatagramLink} link */
function share(key, link) {
  const [a, b] = link[key];
  const input = el('input', { type: 'number', name: key, min: 0, max: 90, step: 'any', value: (100 * a) / Math.max(1, b), required: true });
  input.addEventListener('input', () => { if (input.checkValidity()) link[key] = [Math.round(input.valueAsNumber * (WHOLE / 100)), WHOLE]; });
  return el('label', { class: 'field' }, t(`form.${key}`), input);
}

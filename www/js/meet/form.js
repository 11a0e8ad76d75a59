/** The form of a scenario of one's own. */
import { el } from '#lab/dom.js';
import { number } from '#lab/panels/fields.js';
import { t } from '#lab/strings.js';

/** @import * as T from './types' */

const MAPPINGS = ['endpoint_independent', 'address_and_port_dependent', 'none'];
const FILTERINGS = ['endpoint_independent', 'address_dependent', 'address_and_port_dependent', 'blocked'];

/** @param {string} key @param {any} owner @param {string[]} values @param {(value: string) => string} say */
function choice(key, owner, values, say) {
  const select = el('select', { name: key }, ...values.map((value) => el('option', { value, text: say(value), selected: value === owner[key] })));
  select.addEventListener('change', () => { owner[key] = select.value; });
  return el('label', { class: 'field' }, t(`form.${key}`), select);
}

/** @param {string} key @param {any} owner */
function check(key, owner) {
  const input = el('input', { type: 'checkbox', name: key, checked: owner[key] });
  input.addEventListener('change', () => { owner[key] = input.checked; });
  return el('label', { class: 'check' }, input, t(`form.${key}`));
}

/** @param {T.MeetScenario} draft */
export function form(draft) {
  return [
    ...draft.routers.map((router) => el('fieldset', {}, el('legend', { text: router.name }), el('div', { class: 'form-grid' },
      choice('mapping', router, MAPPINGS, (value) => t(`mapping.${value}`)), choice('filtering', router, FILTERINGS, (value) => t(`filtering.${value}`)),
      number('timeout', router, 1e6, 0.001), number('delay', router, 1e3, 0), check('hairpin', router)))),
    el('fieldset', {}, el('legend', { text: t('node.place') }), el('div', { class: 'form-grid' }, check('relay', draft), check('second_port', draft), number('loss', draft, 10, 0, 'meet.loss'))),
    ...draft.pairs.map((pair) => el('fieldset', {}, el('legend', { text: t('meet.pair', { caller: draft.people[pair.caller]?.name ?? '', listener: draft.people[pair.listener]?.name ?? '' }) }), el('div', { class: 'form-grid' },
      number('caller_at', pair, 1e6, 0), number('listener_at', pair, 1e6, 0), number('messages', pair, 1, 0), number('every', pair, 1e3, 0)))),
  ];
}

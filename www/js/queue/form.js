/** The form of a scenario of one's own. */
import { el } from '#lab/dom.js';
import { number } from '#lab/panels/fields.js';
import { t } from '#lab/strings.js';

/** @import * as T from '../types' */

const DIALECTS = /** @type {const} */ (['active', 'parq', 'parq11', 'passive']);

/** Fields of the form: key, unit, and least value. The unit divides what the core has. */
const SERVER = /** @type {const} */ ([['slots', 1, 1], ['capacity', 1, 0], ['sync_places', 1, 0], ['time_scale', 1, 1]]);
const GROUP = /** @type {const} */ ([['count', 1, 0], ['size', 1e6, 0], ['first', 1e6, 0], ['spacing', 1e6, 0], ['down', 1e3, 1], ['latency', 1e3, 0]]);

/** @param {T.QueueScenario} draft */
export const form = (draft) => [...draft.servers.map((of, i) => server(of, draft.servers.length > 1 ? of.name || `${i + 1}` : '')), groups(draft)];

/** @param {T.ScenarioServer} of @param {string} name among several */
function server(of, name) {
  return el('fieldset', {}, el('legend', { text: `${t('scenario.server')}${name && ` ${name}`}` }),
    el('div', { class: 'form-grid' }, ...SERVER.map(([key, unit, least]) => number(key, of.queue, unit, least)),
      number('up', of, 1e3, 1, 'rate'), number('latency', of, 1e3, 0)));
}

/** @param {T.QueueScenario} draft */
function groups(draft) {
  const rows = el('div', {});
  const draw = () => rows.replaceChildren(...draft.clients.map((group, i) => row(group, i)));
  /** @param {T.ClientGroup} group @param {number} i */
  const row = (group, i) => {
    const dialect = el('select', { name: 'dialect' }, ...DIALECTS.map((d) => el('option', { value: d, text: t(`dialect.${d}`), selected: d === group.dialect })));
    dialect.addEventListener('change', () => { group.dialect = dialect.value; });
    const name = el('input', { name: 'name', value: group.name, maxlength: 24, required: true });
    name.addEventListener('input', () => { group.name = name.value; });
    return el('div', { class: 'group-row', role: 'group', 'aria-label': group.name },
      el('label', { class: 'field' }, t('form.group'), name), el('label', { class: 'field' }, t('form.dialect'), dialect),
      ...GROUP.map(([key, unit, least]) => number(key, group, unit, least)),
      flag('callable', group), flag('firewalled', group),
      el('button', { class: 'button small', type: 'button', disabled: draft.clients.length < 2, text: t('scenario.remove'), on: { click: () => { draft.clients.splice(i, 1); draw(); } } }));
  };
  draw();
  return el('fieldset', {}, el('legend', { text: t('scenario.clients') }), rows,
    el('button', { class: 'button small add-group', type: 'button', text: t('scenario.add'), on: { click: () => {
      const last = structuredClone(draft.clients[draft.clients.length - 1]);
      draft.clients.push({ ...last, name: `${last.name}-${draft.clients.length + 1}` });
      draw();
    } } }));
}

/** @param {'callable'|'firewalled'} key @param {T.ClientGroup} group */
function flag(key, group) {
  const input = el('input', { type: 'checkbox', name: key, checked: group[key] });
  input.addEventListener('change', () => { group[key] = input.checked; });
  return el('label', { class: 'check' }, input, t(`form.${key}`));
}

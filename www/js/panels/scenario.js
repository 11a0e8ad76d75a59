/** The scenario dialog: stories to begin with, and a form for one's own. */
import { el } from '../dom.js';
import { presets } from '../run.js';
import { t } from '../strings.js';
import { openDialog } from './dialog.js';

/** @import * as T from '../types' */
/** @import { Session } from '../session.js' */

const DIALECTS = /** @type {const} */ (['active', 'parq', 'parq11', 'passive']);

/** Fields of the form: key, unit, and least value. The unit divides what the core has. */
const SERVER = /** @type {const} */ ([['slots', 1, 1], ['capacity', 1, 0], ['sync_places', 1, 0], ['time_scale', 1, 1]]);
const GROUP = /** @type {const} */ ([['count', 1, 0], ['size', 1e6, 0], ['first', 1e6, 0], ['spacing', 1e6, 0], ['down', 1e3, 1], ['latency', 1e3, 0]]);

/** @param {Session} session */
export function scenarioDialog(session) {
  const base = /** @type {T.Scenario} */ (session.scenario ?? presets()[0]?.scenario);
  if (!base) return;
  const draft = structuredClone(base);
  const stories = el('div', { class: 'presets' }, ...presets().map((preset) => el('button', {
    class: 'preset', type: 'button', data: { preset: preset.id }, 'aria-pressed': String(preset.id === session.preset),
    on: { click: () => { dialog.close(); session.openPreset(preset.id); session.play(); } },
  }, el('strong', { text: preset.title }), el('span', { text: preset.text }))));
  const error = el('p', { class: 'form-error', role: 'alert' });
  const apply = () => {
    try {
      session.openScenario({ ...draft, title: t('scenario.changed'), text: '', faults: fitting(draft) });
      dialog.close();
      session.play();
    } catch (why) {
      error.textContent = t('scenario.bad', { why: why instanceof Error ? why.message : String(why) });
    }
  };
  const form = el('form', { class: 'dialog-form', on: { submit: (/** @type {Event} */ e) => { e.preventDefault(); apply(); } } },
    el('div', { class: 'dialog-body own' }, world(draft), server(draft.servers[0]), groups(draft), error,
      el('div', { class: 'form-foot' }, el('button', { class: 'button primary', type: 'submit', text: t('scenario.apply') }))));
  const dialog = openDialog(t('scenario.title'), el('section', {}, el('h3', { class: 'section', text: t('scenario.presets') }), stories),
    el('section', {}, el('h3', { class: 'section', text: t('scenario.own') }), form));
}

/** Faults that name nodes which still exist. @param {T.Scenario} draft */
function fitting(draft) {
  const nodes = draft.servers.length + draft.clients.reduce((sum, g) => sum + g.count, 0);
  return draft.faults.filter(({ at: _, ...fault }) => Object.values(fault).every((f) => [f.node, f.a, f.b].every((n) => n === undefined || n < nodes)));
}

/**
 * A number field that writes back what it holds, in the core's unit.
 * @param {string} key
 * @param {any} owner
 * @param {number} unit
 * @param {number} least
 */
function number(key, owner, unit, least, label = key) {
  const input = el('input', { type: 'number', name: key, min: least, step: 'any', value: owner[key] / unit, required: true });
  input.addEventListener('input', () => { if (input.checkValidity()) owner[key] = Math.round(input.valueAsNumber * unit); });
  return el('label', { class: 'field' }, t(`form.${label}`), input);
}

/** @param {T.Scenario} draft */
function world(draft) {
  const seed = el('input', { name: 'seed', inputmode: 'numeric', pattern: '[0-9]{1,15}', value: String(draft.seed), required: true });
  seed.addEventListener('input', () => { if (seed.checkValidity()) draft.seed = Number(seed.value); });
  return el('fieldset', {}, el('legend', { text: t('scenario.world') }),
    el('div', { class: 'form-grid' }, el('label', { class: 'field' }, t('form.seed'), seed), number('horizon', draft, 1e6, 1, 'length')));
}

/** @param {T.ScenarioServer} of */
function server(of) {
  return el('fieldset', {}, el('legend', { text: t('scenario.server') }),
    el('div', { class: 'form-grid' }, ...SERVER.map(([key, unit, least]) => number(key, of.queue, unit, least)),
      number('up', of, 1e3, 1, 'rate'), number('latency', of, 1e3, 0)));
}

/** @param {T.Scenario} draft */
function groups(draft) {
  const rows = el('div', {});
  const draw = () => rows.replaceChildren(...draft.clients.map((group, i) => row(group, i)));
  /** @param {T.ScenarioGroup} group @param {number} i */
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

/** @param {'callable'|'firewalled'} key @param {T.ScenarioGroup} group */
function flag(key, group) {
  const input = el('input', { type: 'checkbox', name: key, checked: group[key] });
  input.addEventListener('change', () => { group[key] = input.checked; });
  return el('label', { class: 'check' }, input, t(`form.${key}`));
}

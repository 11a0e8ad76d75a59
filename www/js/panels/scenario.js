/** The scenario dialog: stories to begin with, and a form for one's own. */
import { el, icon } from '#lab/dom.js';
import { storyOf, t } from '#lab/strings.js';
import { openDialog } from '#lab/panels/dialog.js';
import { world } from '#lab/panels/fields.js';

/** @import * as T from '../types' */
/** @import { Session } from '../session/session.js' */

/** @param {Session} session */
export function scenarioDialog(session) {
  const { view } = session;
  const base = /** @type {T.Scenario} */ (session.scenario ?? view.presets()[0]?.scenario);
  if (!base) return;
  const draft = structuredClone(base);
  const stories = el('div', { class: 'presets' }, ...view.presets().map(({ scenario, ...preset }) => ({ ...preset, ...storyOf(preset) })).map((preset) => el('button', {
    class: 'preset', type: 'button', data: { preset: preset.id }, 'aria-pressed': String(preset.id === session.preset),
    on: { click: () => { dialog.close(); session.openPreset(preset.id); session.clock.play(); } },
  }, el('strong', { text: preset.title }), el('span', { text: preset.text }))));
  const error = el('p', { class: 'form-error', role: 'alert' });
  const apply = () => {
    try {
      session.openScenario({ ...view.fitting(draft), title: t('scenario.changed'), text: '' });
      dialog.close();
      session.clock.play();
    } catch (why) {
      error.textContent = t('scenario.bad', { why: why instanceof Error ? why.message : String(why) });
    }
  };
  const form = el('form', { class: 'dialog-form', on: { submit: (/** @type {Event} */ e) => { e.preventDefault(); apply(); } } },
    el('div', { class: 'dialog-body own' }, world(draft), ...view.form(draft), error,
      el('div', { class: 'form-foot' }, el('button', { class: 'button primary', type: 'submit', text: t('scenario.apply') }))));
  const sweep = el('button', {
    class: 'button sweep-open', type: 'button', data: { tool: 'sweep' }, hidden: !session.scenario, title: t('tool.sweep.long'),
    on: { click: async () => { dialog.close(); (await import('#lab/sweep/panel.js')).sweepDialog(session); } },
  }, icon('sweep'), t('tool.sweep'));
  const dialog = openDialog(t('scenario.title'), sweep, el('section', {}, el('h3', { class: 'section', text: t('scenario.presets') }), stories),
    el('section', {}, el('h3', { class: 'section', text: t('scenario.own') }), form));
}

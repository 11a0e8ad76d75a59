/** Fields that all forms of scenarios use. */
import { el } from '#lab/dom.js';
import { t } from '#lab/strings.js';

/**
 * A number field that writes back what it holds, in the core's unit.
 * @param {string} key
 * @param {any} owner
 * @param {number} unit
 * @param {number} least
 */
export function number(key, owner, unit, least, label = key) {
  const input = el('input', { type: 'number', name: key, min: least, step: 'any', value: owner[key] / unit, required: true });
  input.addEventListener('input', () => { if (input.checkValidity()) owner[key] = Math.round(input.valueAsNumber * unit); });
  return el('label', { class: 'field' }, t(`form.${label}`), input);
}

/** Seed and length. @param {{seed: number|string, horizon: number}} draft */
export function world(draft) {
  const seed = el('input', { name: 'seed', inputmode: 'numeric', pattern: '[0-9]{1,15}', value: String(draft.seed), required: true });
  seed.addEventListener('input', () => { if (seed.checkValidity()) draft.seed = Number(seed.value); });
  return el('fieldset', {}, el('legend', { text: t('scenario.world') }),
    el('div', { class: 'form-grid' }, el('label', { class: 'field' }, t('form.seed'), seed), number('horizon', draft, 1e6, 1, 'length')));
}


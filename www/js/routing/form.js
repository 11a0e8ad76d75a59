/** The form of a scenario of one's own. */
import { el } from '#lab/dom.js';
import { number } from '#lab/panels/fields.js';
import { t } from '#lab/strings.js';

/** @import * as T from './types' */

const SHAPES = /** @type {T.Shape[]} */ (['ring', 'star', 'mesh', 'random', 'small_world']);
/** Fields of an answer of the form: key, unit, least value. */
const OVERLAY = /** @type {const} */ ([['nodes', 1, 2], ['degree', 1, 1], ['shortcuts', 1, 0], ['latency', 1e3, 0], ['spread', 1e3, 0]]);
const TABLES = /** @type {const} */ ([['query_life', 1e6, 1], ['push_life', 1e6, 1], ['duplicate_life', 1e6, 1], ['max_ttl', 1, 1], ['queries_per_link', 1, 1]]);
/** What a flooder does when it is added. */
const FLOODER = { at: 1_000_000, flood: { node: 1, count: 500, every: 10_000 } };

/** @param {T.RoutingScenario} draft */
export function form(draft) {
  const shape = el('select', { name: 'shape' }, ...[...new Set([...SHAPES, draft.shape])].map((id) => el('option', { value: id, text: t(`shape.${id}`), selected: id === draft.shape })));
  shape.addEventListener('change', () => { draft.shape = shape.value; });
  const search = draft.script.find((/** @type {any} */ step) => step.search)?.search;
  return [
    el('fieldset', {}, el('legend', { text: t('form.overlay') }),
      el('div', { class: 'form-grid' }, el('label', { class: 'field' }, t('form.shape'), shape), ...OVERLAY.map(([key, unit, least]) => number(key, draft, unit, least)), flag('pings', draft))),
    el('fieldset', {}, el('legend', { text: t('form.tables') }),
      el('div', { class: 'form-grid' }, ...TABLES.filter(([key]) => typeof draft.config[key] === 'number').map(([key, unit, least]) => number(key, draft.config, unit, least)))),
    el('fieldset', {}, el('legend', { text: t('form.happens') }),
      el('div', { class: 'form-grid' }, search ? words(search) : null, search ? number('node', search, 1, 0, 'asks') : null, flooder(draft))),
  ];
}

/** @param {any} search */
function words(search) {
  const input = el('input', { name: 'words', value: search.words, required: true, maxlength: 80 });
  input.addEventListener('input', () => { search.words = input.value; });
  return el('label', { class: 'field' }, t('form.words'), input);
}

/** @param {string} key @param {any} owner */
function flag(key, owner) {
  const input = el('input', { type: 'checkbox', name: key, checked: owner[key] });
  input.addEventListener('change', () => { owner[key] = input.checked; });
  return el('label', { class: 'check' }, input, t(`form.${key}`));
}

/** A node that asks without end. @param {T.RoutingScenario} draft */
function flooder(draft) {
  const input = el('input', { type: 'checkbox', name: 'flooder', checked: draft.script.some((/** @type {any} */ step) => step.flood) });
  input.addEventListener('change', () => {
    draft.script = draft.script.filter((/** @type {any} */ step) => !step.flood);
    if (input.checked) draft.script = [...draft.script, FLOODER].sort((a, b) => a.at - b.at);
  });
  return el('label', { class: 'check' }, input, t('form.flooder'));
}

/** What names nodes that are no more is left out. @param {T.RoutingScenario} draft */
export function fitting(draft) {
  const fits = (/** @type {any} */ { at: _, ...step }) => Object.values(step).every((what) => [what?.node, what?.from, what?.to, what?.of].every((n) => typeof n !== 'number' || n < draft.nodes));
  const own = /** @type {any} */ (draft);
  return {
    ...draft, script: draft.script.filter(fits), faults: draft.faults.filter(fits),
    ...(own.files ? { files: own.files.filter((/** @type {any} */ f) => f.node < draft.nodes) } : {}),
    ...(own.names ? { names: own.names.slice(0, draft.nodes) } : {}),
    ...(own.twins ? { twins: own.twins.filter((/** @type {number[]} */ pair) => pair.every((n) => n < draft.nodes)) } : {}),
    ...(own.links ? { links: own.links.filter((/** @type {number[]} */ pair) => pair.every((n) => n < draft.nodes)) } : {}),
  };
}

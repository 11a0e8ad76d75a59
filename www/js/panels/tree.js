/** Data as a tree that folds. */
import { el } from '#lab/dom.js';
import { clock } from '#lab/format.js';

/** Members of a list shown at once. */
const MOST = 100;
/** Data with no more members is told in a line. */
const FEW = 16;

/**
 * @param {unknown} value
 * @param {string} key
 * @param {Set<string>} open paths that are unfolded; kept by the caller
 * @param {number} origin where the clock of the run begins
 * @param {string} path
 * @returns {HTMLElement}
 */
export function tree(value, key, open, origin, path = key) {
  if (value === null || typeof value !== 'object') {
    return el('div', { class: 'leaf' }, el('span', { class: 'key', text: `${key}: ` }), show(value, key, origin));
  }
  const entries = Array.isArray(value) ? value.map((v, i) => /** @type {[string, unknown]} */ ([String(i), v])) : Object.entries(value);
  const node = el('details', { open: open.has(path) }, el('summary', {}, el('span', { class: 'key', text: `${key} ` }), size(value)));
  const fill = () => {
    if (node.childElementCount > 1) return;
    node.append(...entries.slice(0, MOST).map(([k, v]) => tree(v, k, open, origin, `${path}.${k}`)));
    if (entries.length > MOST) node.append(el('div', { class: 'leaf', text: `… ${entries.length - MOST}` }));
  };
  if (open.has(path)) fill();
  node.addEventListener('toggle', () => {
    if (node.open) open.add(path);
    else open.delete(path);
    fill();
  });
  return node;
}

/** How many members data has, and of what kind it is. @param {object} value */
const size = (value) => (Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`);

/** Fields that hold an instant. */
const INSTANT = /(^|[._])(at|before|deadline|since|until)$/;

/** An instant is far from nought where the clock counts from the epoch; nought is never. @param {number} value @param {number} origin */
function instant(value, origin) {
  if (origin === 0 || value > origin / 2) return clock(value - origin);
  return value === 0 ? '–' : clock(value);
}

/**
 * A value in a word, data in a line; an instant as the clock of the page shows it.
 * @param {unknown} value
 * @param {string} key
 * @param {number} origin
 * @returns {string}
 */
export function show(value, key, origin) {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'number' && INSTANT.test(key)) return instant(value, origin);
  if (typeof value !== 'object') return String(value);
  const inner = Object.entries(value).map(([name, v]) => `${Array.isArray(value) ? '' : `${name} `}${v !== null && typeof v === 'object' ? size(v) : show(v, name, origin)}`);
  return inner.length > FEW ? size(value) : inner.join(', ') || size(value);
}

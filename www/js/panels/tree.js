/** Data as a tree that folds. */
import { el } from '../dom.js';

/** Members of a list shown at once. */
const MOST = 100;

/**
 * @param {unknown} value
 * @param {string} key
 * @param {Set<string>} open paths that are unfolded; kept by the caller
 * @param {string} path
 * @returns {HTMLElement}
 */
export function tree(value, key, open, path = key) {
  if (value === null || typeof value !== 'object') {
    return el('div', { class: 'leaf' }, el('span', { class: 'key', text: `${key}: ` }), show(value));
  }
  const entries = Array.isArray(value) ? value.map((v, i) => /** @type {[string, unknown]} */ ([String(i), v])) : Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  const node = el('details', { open: open.has(path) }, el('summary', {}, el('span', { class: 'key', text: `${key} ` }), size));
  const fill = () => {
    if (node.childElementCount > 1) return;
    node.append(...entries.slice(0, MOST).map(([k, v]) => tree(v, k, open, `${path}.${k}`)));
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

/** @param {unknown} value */
export function show(value) {
  return value === null || value === undefined ? '–' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

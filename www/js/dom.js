/** Small tools for making and changing elements. */

/**
 * Makes an element. `on` holds listeners, `data` data attributes; `text` is
 * set as text; a boolean attribute is present or absent.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Node|string|null|undefined)} children
 * @returns {any}
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'text') node.textContent = value;
    else if (key === 'on') for (const [name, fn] of Object.entries(value)) node.addEventListener(name, /** @type {EventListener} */ (fn));
    else if (key === 'data') Object.assign(node.dataset, value);
    else if (key === 'class') node.className = value;
    else node.setAttribute(key, value === true ? '' : String(value));
  }
  node.append(...children.filter((c) => c !== null && c !== undefined).map((c) => /** @type {Node|string} */ (c)));
  return node;
}

/**
 * A part of a picture.
 * @param {string} tag
 * @param {Record<string, string|number>} props
 * @param {...(Node|string)} children
 */
export function svg(tag, props, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(props)) node.setAttribute(key, String(value));
  node.append(...children);
  return node;
}

/**
 * Replaces what an element holds; nothing stands for nothing.
 * @param {Element} node
 * @param {...(Node|string|null|undefined)} children
 */
export function fill(node, ...children) {
  node.replaceChildren(...children.filter((c) => c !== null && c !== undefined).map((c) => /** @type {Node|string} */ (c)));
}

/**
 * Sets text only when it differs, so that nothing is laid out for nothing.
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Sets or removes an attribute only when it differs.
 * @param {Element} node
 * @param {string} name
 * @param {string|null|false} value
 */
export function setAttr(node, name, value) {
  if (value === null || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** Paths of the icons, in a box of 16 by 16. */
const ICONS = {
  logo: 'M2 3h5v10H2zM9 3h5v2.6H9zm0 3.7h5v2.6H9zm0 3.7h5V13H9z',
  play: 'M4 2.5v11l9.5-5.5z',
  pause: 'M3.5 2.5h3v11h-3zm6 0h3v11h-3z',
  first: 'M3 2.5h2v11H3zm10 0v11L6 8z',
  back: 'M12 2.5v11L5 8zM3.2 2.5h1.6v11H3.2z',
  forth: 'M4 2.5v11L11 8zm7.2 0h1.6v11h-1.6z',
  backNode: 'M8 3v10L2 8zm6 2.2A2.8 2.8 0 1 1 14 10.8a2.8 2.8 0 0 1 0-5.6z',
  forthNode: 'M8 3v10l6-5zM2 5.2a2.8 2.8 0 1 1 0 5.6z',
  more: 'M8 2.2a1.4 1.4 0 1 1 0 2.8 1.4 1.4 0 0 1 0-2.8zm0 4.4a1.4 1.4 0 1 1 0 2.8 1.4 1.4 0 0 1 0-2.8zM8 11a1.4 1.4 0 1 1 0 2.8A1.4 1.4 0 0 1 8 11z',
  fold: 'M8 10.9 2.6 5.5l1.1-1.1L8 8.7l4.3-4.3 1.1 1.1z',
  close: 'm3.7 2.6 4.3 4.3 4.3-4.3 1.1 1.1L9.1 8l4.3 4.3-1.1 1.1L8 9.1l-4.3 4.3-1.1-1.1L6.9 8 2.6 3.7z',
  link: 'M6.6 9.4a3 3 0 0 1 0-4.3l2-2a3 3 0 0 1 4.3 4.3l-1 1-1.1-1.1 1-1a1.5 1.5 0 0 0-2.1-2.1l-2 2a1.5 1.5 0 0 0 0 2.1zm2.8-2.8a3 3 0 0 1 0 4.3l-2 2a3 3 0 0 1-4.3-4.3l1-1 1.1 1.1-1 1a1.5 1.5 0 0 0 2.1 2.1l2-2a1.5 1.5 0 0 0 0-2.1z',
  theme: 'M8 1.5a6.5 6.5 0 1 0 0 13zm0-1A7.5 7.5 0 1 1 8 15.5 7.5 7.5 0 0 1 8 .5z',
  help: 'M8 .9a7.1 7.1 0 1 1 0 14.2A7.1 7.1 0 0 1 8 .9zm0 1.5a5.6 5.6 0 1 0 0 11.2A5.6 5.6 0 0 0 8 2.4zm0 8.2a.9.9 0 1 1 0 1.9.9.9 0 0 1 0-1.9zM8 3.9c1.6 0 2.7 1 2.7 2.4 0 1-.6 1.6-1.2 2-.6.5-.8.7-.8 1.4H7.3c0-1.4.6-1.9 1.2-2.4.5-.4.8-.6.8-1 0-.6-.5-1-1.3-1s-1.3.4-1.3 1.2H5.2C5.2 4.9 6.4 3.9 8 3.9z',
  signs: 'M3.5 1.2a2 2 0 1 1 0 4 2 2 0 0 1 0-4zM1.7 6.7h3.6v3.2H1.7zM3.5 11.2l2.2 3.6H1.3zM7.5 2.4h7V4h-7zm0 5.1h7v1.6h-7zm0 5.1h7v1.6h-7z',
  open: 'M1.5 3h4.7l1.5 2h6.8v8.5h-13z',
  save: 'M7.2 1.5h1.6v7l2.6-2.6 1.1 1.1L8 11.5 3.5 7l1.1-1.1 2.6 2.6zM2 12.5h12V14H2z',
  screen: 'M1.5 2.5h13v9h-13zM3 4v6h10V4zm2.5 8.5h5V14h-5z',
  lesson: 'M1.5 2.5c2.4 0 4.6.4 6.5 1.6 1.9-1.2 4.1-1.6 6.5-1.6V12c-2.4 0-4.6.4-6.5 1.7C6.1 12.4 3.9 12 1.5 12zM3 4.1v6.5c1.5.1 2.9.4 4.2 1V5.3C6 4.6 4.600 4.200 3 4.1zm10 0c-1.6.1-3 .5-4.2 1.200v6.3c1.300-.6 2.700-.900 4.200-1z',
  eye: 'M8 3.2c3.4 0 6 2.3 7.3 4.8C14 10.5 11.4 12.8 8 12.8S2 10.5.7 8C2 5.5 4.6 3.2 8 3.2zm0 1.5C5.6 4.7 3.6 6.2 2.4 8c1.2 1.8 3.2 3.3 5.6 3.3s4.4-1.5 5.6-3.3C12.4 6.2 10.4 4.7 8 4.7zm0 1.1a2.2 2.2 0 1 1 0 4.4 2.2 2.2 0 0 1 0-4.4z',
  check: 'm6.4 12.6-4.3-4.3 1.2-1.2 3.1 3.1 6.3-6.4 1.2 1.2z',
  cross: 'm3.7 2.6 4.3 4.3 4.3-4.3 1.1 1.1L9.1 8l4.3 4.3-1.1 1.1L8 9.1l-4.3 4.3-1.1-1.1L6.9 8 2.6 3.7z',
  sweep: 'M1.5 13h13v1.5h-13zM4 9.500a1.500 1.500 0 1 1 0 .01zM7 9.500a1.500 1.500 0 1 1 0 .01zM7 6a1.500 1.500 0 1 1 0 .01zM7 2.500a1.500 1.500 0 1 1 0 .01zM10 9.500a1.500 1.500 0 1 1 0 .01zM10 6a1.500 1.500 0 1 1 0 .01zM13 9.500a1.500 1.500 0 1 1 0 .01z',
  flag: 'M3 1.5h1.5v13H3zm2.5 .5H13l-2 3 2 3H5.5z',
  alert: 'M8 1.5 15.2 14H.8zm-.8 4.7v4h1.6v-4zm0 5v1.5h1.6v-1.5z',
  wire: 'M1.5 7h4a2.5 2.5 0 0 1 5 0h4v2h-4a2.5 2.5 0 0 1-5 0h-4z',
  cut: 'M1.5 7h3.2v2H1.5zm9.8 0h3.2v2h-3.2zM9.8 3.5l1.3 1-4.9 8-1.3-1z',
  twice: 'M2 2h8v2H4v6H2zm4 4h8v8H6z',
  hourglass: 'M3 1.5h10V5L9.5 8 13 11v3.5H3V11l3.5-3L3 5zM4.8 3v1.4L8 7.1l3.2-2.7V3z',
  upload: 'M8 1.5 12.5 6l-1.1 1.1-2.6-2.6v7H7.2v-7L4.6 7.1 3.5 6zM2 13h12v1.5H2z',
  moon: 'M6.2 1.6A6.6 6.6 0 1 0 14.4 9.8 5.6 5.6 0 0 1 6.2 1.6z',
  active: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2z',
  parq: 'M8 .8 15.2 8 8 15.2.8 8z',
  parq11: 'M8 .8 15.2 8 8 15.2.8 8zM8 4.6 4.6 8 8 11.4 11.4 8z',
  passive: 'M8 1.8 15 14.2H1z',
};

/**
 * An icon; it says nothing to a screen reader.
 * @param {keyof typeof ICONS | string} name
 * @returns {SVGElement}
 */
export function icon(name) {
  return svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('path', { 'fill-rule': 'evenodd', d: ICONS[/** @type {keyof typeof ICONS} */ (name)] ?? '' }));
}

/** True when the user asked for less motion. */
export const stillness = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** What moves is there after so many milliseconds at most; `--move` in the style sheet. */
export const MOVE_MS = 400;

/** The one live region: one sentence a step. */
let region = /** @type {HTMLElement|null} */ (null);

/** @param {string} sentence */
export function announce(sentence) {
  if (!region) {
    region = /** @type {HTMLElement} */ (el('p', { class: 'quiet', role: 'status', 'aria-live': 'polite' }));
    document.body.append(region);
  }
  setText(region, sentence);
}

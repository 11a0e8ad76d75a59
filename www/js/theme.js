/** Light, dark or as the system; projector mode. Remembered where storage is allowed. */

const THEMES = /** @type {const} */ (['system', 'light', 'dark']);

/** @param {string} key @returns {string|null} */
export function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string} value */
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // A page without storage works all the same; it only forgets.
  }
}

const root = document.documentElement;
let theme = /** @type {string} */ ('system');

/** @param {string} name */
function apply(name) {
  theme = name;
  if (name === 'system') delete root.dataset.theme;
  else root.dataset.theme = name;
}

export function restoreTheme() {
  const saved = recall('theme');
  apply(THEMES.includes(/** @type {any} */ (saved)) ? String(saved) : 'system');
  if (recall('projector') === 'on') root.dataset.projector = '';
}

export const themeNow = () => theme;

/** System, light, dark, system… */
export function nextTheme() {
  apply(THEMES[(THEMES.indexOf(/** @type {any} */ (theme)) + 1) % THEMES.length]);
  remember('theme', theme);
  return theme;
}

/** Pixels of a canvas for one of the page: what the screen can show, and what letters on paper need. */
export const density = () => (root.dataset.paper === undefined ? Math.min(2, devicePixelRatio || 1) : 2);

/** Does something on a page that is white and has letters of the usual size, whatever a person has chosen. @template T @param {() => T} work @returns {T} */
export function onPaper(work) {
  const before = ['theme', 'projector'].map((name) => /** @type {const} */ ([name, root.dataset[name]]));
  Object.assign(root.dataset, { theme: 'light', paper: '' });
  delete root.dataset.projector;
  try {
    return work();
  } finally {
    delete root.dataset.paper;
    for (const [name, value] of before) if (value === undefined) delete root.dataset[name]; else root.dataset[name] = value;
  }
}

export const projecting = () => root.dataset.projector !== undefined;

export function toggleProjector() {
  if (projecting()) delete root.dataset.projector;
  else root.dataset.projector = '';
  remember('projector', projecting() ? 'on' : 'off');
}

export const keysWanted = () => recall('keys') !== 'off';

/** Calls when the system shows colours in another way: dark, with more contrast, or its own only. @param {() => void} repaint */
export function onColours(repaint) {
  for (const media of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)']) matchMedia(media).addEventListener('change', repaint);
}

/**
 * What a canvas needs of the style sheet: custom properties as colours it
 * understands, the font, and pixels of a `rem`.
 * @template {string} Name
 * @param {Element} host @param {readonly Name[]} names
 */
export function inks(host, names) {
  const probe = document.createElement('i');
  probe.hidden = true;
  // The system would paint everything in one colour, and a picture would say nothing.
  probe.style.forcedColorAdjust = 'none';
  host.append(probe);
  const style = getComputedStyle(probe);
  const colours = Object.fromEntries(names.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, style.color];
  }));
  const font = style.fontFamily;
  probe.remove();
  return { colours: /** @type {Record<Name, string>} */ (colours), font, rem: parseFloat(getComputedStyle(root).fontSize) };
}

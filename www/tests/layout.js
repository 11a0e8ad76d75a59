/** Where things are on the page, for the tests of its layout. */

/** The picture itself, without what is said of it. */
const PICTURE = '.lanes, .routing-stage, .unicast-body, .swarm-body, .meet-body';

/** Where the parts of the page are, and what lies at the middle of what must be hit. @param {import('puppeteer-core').Page} page */
export const measure = (page) => page.evaluate((picture) => {
  const seen = (/** @type {string} */ selector) => [...document.querySelectorAll(selector)].filter((n) => n.checkVisibility()).map((n) => n.getBoundingClientRect());
  const rect = (/** @type {DOMRect|undefined} */ r) => (r ? { top: r.top, left: r.left, right: r.right, bottom: r.bottom, width: r.width, height: r.height } : null);
  const covered = (/** @type {string} */ selector) => {
    const node = document.querySelector(selector);
    if (!node?.checkVisibility()) return `${selector} is not there`;
    const { left, top, width, height } = node.getBoundingClientRect();
    const at = document.elementFromPoint(left + width / 2, top + height / 2);
    return node === at || node.contains(at) ? '' : `${selector} is under ${at?.outerHTML.slice(0, 80) ?? 'nothing'}`;
  };
  return {
    picture: seen(picture).filter(({ width }) => width > 0).map(rect).toSorted((/** @type {any} */ a, /** @type {any} */ b) => b.height - a.height)[0] ?? null,
    parts: ['.lab-head', '.lab-view', '.lab-side', '.lab-time'].map((name) => ({ name, at: rect(seen(name)[0]) })),
    covered: ['[data-do="play"]', '.track'].map(covered).filter(Boolean),
    wide: document.documentElement.scrollWidth - innerWidth,
    height: innerHeight,
  };
}, PICTURE);

/** Parts that lie over each other by more than a line. @param {{name: string, at: any}[]} parts */
export const overlaps = (parts) => parts.flatMap(({ name, at: a }, i) => parts.slice(i + 1).filter(({ at: b }) => a && b && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1).map((other) => `${name} and ${other.name}`));

/**
 * What the heads of pictures say and cannot be read: it lies over other words, or leaves its
 * head for that of the picture beside it.
 * @param {import('puppeteer-core').Page} page
 */
export const hiddenWords = (page) => page.evaluate(() => [...document.querySelectorAll('.unicast-head, .swarm-head')].filter((n) => n.checkVisibility()).flatMap((head) => {
  const room = head.getBoundingClientRect();
  const words = [...head.querySelectorAll('h2, dt, dd, .numbers, .end b')].filter((n) => n.checkVisibility() && n.textContent).map((n) => {
    const range = document.createRange();
    range.selectNodeContents(n);
    return { text: n.textContent ?? '', at: range.getBoundingClientRect() };
  });
  const out = words.filter(({ at }) => at.left < room.left - 1 || at.right > room.right + 1).map(({ text }) => `${text} leaves its head`);
  const over = words.flatMap(({ text, at: a }, i) => words.slice(i + 1).filter(({ at: b }) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3).map((other) => `${text} and ${other.text}`));
  return [...out, ...over];
}));

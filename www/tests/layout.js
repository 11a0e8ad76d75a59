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
    // Whose a line is, and what its router knows, is part of the picture of a meeting.
    beside: seen('.meet-tables, .meet-cards').reduce((sum, { height }) => sum + height, 0),
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
export const hiddenWords = (page) => page.evaluate(() => [...document.querySelectorAll('.unicast-head, .swarm-head, .flows')].filter((n) => n.checkVisibility()).flatMap((head) => {
  const room = head.getBoundingClientRect();
  const words = [...head.querySelectorAll('h2, dt, dd, .numbers, .end b, .flow-name, .flow-has')].filter((n) => n.checkVisibility() && n.textContent).map((n) => {
    const range = document.createRange();
    range.selectNodeContents(n);
    return { text: n.textContent ?? '', at: range.getBoundingClientRect() };
  });
  const out = words.filter(({ at }) => at.left < room.left - 1 || at.right > room.right + 1).map(({ text }) => `${text} leaves its head`);
  const over = words.flatMap(({ text, at: a }, i) => words.slice(i + 1).filter(({ at: b }) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3).map((other) => `${text} and ${other.text}`));
  return [...out, ...over];
}));

/**
 * What on a screen cannot be read or pressed: words that lie over others, are cut off or
 * leave what they stand in; buttons that something lies over; what is larger than the
 * window, in a direction in which that does not scroll.
 * @param {import('puppeteer-core').Page} page @param {string} screen @param {{whole?: boolean}} [how] `whole`: it does not scroll at all, as a wall does not
 */
export const crowded = (page, screen, { whole = false } = {}) => page.evaluate(inPage, screen, whole);

/** @param {string} selector @param {boolean} whole */
function inPage(selector, whole) {
  const root = /** @type {Element} */ (document.querySelector(selector));
  const seen = (/** @type {Element} */ n) => n.checkVisibility({ visibilityProperty: true }) && getComputedStyle(n).clipPath === 'none';
  const called = (/** @type {Element} */ n) => `${n.tagName.toLowerCase()}${n.getAttribute('class') ? `.${n.getAttribute('class')?.split(' ')[0]}` : ''} “${n.textContent?.trim().slice(0, 40)}”`;
  const scrolls = (/** @type {Element} */ n) => /auto|scroll|hidden|clip/.test(getComputedStyle(n).overflowX + getComputedStyle(n).overflowY);
  /** What of a box the parts around it let through. @param {Element} n @param {DOMRect} r */
  const through = (n, r) => {
    let { left, right, top, bottom } = r;
    for (let up = n.parentElement; up && up !== root.parentElement; up = up.parentElement) {
      if (up.matches('body, svg *') || !scrolls(up) || up.matches('svg')) continue;
      const room = up.getBoundingClientRect();
      [left, right, top, bottom] = [Math.max(left, room.left), Math.min(right, room.right), Math.max(top, room.top), Math.min(bottom, room.bottom)];
    }
    return { left, right, top, bottom };
  };
  const wrong = /** @type {string[]} */ ([]);
  const leaves = /** @type {{n: Element, box: {left: number, right: number, top: number, bottom: number}}[]} */ ([]);
  for (const n of root.querySelectorAll('*')) {
    if (!seen(n) || n.parentElement?.closest('button, select, .room-code')) continue;
    const words = [...n.childNodes].filter((one) => one.nodeType === 3 && one.textContent?.trim());
    const solid = n.matches('button, input:not(.part-picker), select, .room-code, .tally-bar i, .room-map circle');
    const rects = solid ? [n.getBoundingClientRect()] : words.flatMap((one) => {
      const range = document.createRange();
      range.selectNode(one);
      return n.closest('svg') ? [n.getBoundingClientRect()] : [...range.getClientRects()];
    });
    for (const r of rects) {
      if (r.width < 1) continue;
      // A circle is within its square, and letters within their line.
      const [aside, above] = n.matches('circle') ? [0.15, 0.15] : n.closest('svg') ? [0, 0.25] : [0, 0];
      leaves.push({ n, box: through(n, new DOMRect(r.x + aside * r.width, r.y + above * r.height, r.width * (1 - 2 * aside), r.height * (1 - 2 * above))) });
      const room = (n.closest('svg') ? n.closest('svg')?.parentElement : n.parentElement?.closest('li, section, .room-front, .room-way, header, main'))?.getBoundingClientRect();
      if (r.left < -1 || r.right > innerWidth + 1) wrong.push(`${called(n)} leaves the window: ${Math.round(r.left)}–${Math.round(r.right)} of ${innerWidth}`);
      else if (room && (r.left < room.left - 1 || r.right > room.right + 1)) wrong.push(`${called(n)} leaves what it stands in`);
      if (whole && (r.bottom > innerHeight + 1 || r.top < -1)) wrong.push(`${called(n)} is below the window: ${Math.round(r.top)}–${Math.round(r.bottom)} of ${innerHeight}`);
    }
    if (words.length && !n.closest('svg') && n.scrollWidth > n.clientWidth + 1 && getComputedStyle(n).overflowX !== 'visible') wrong.push(`${called(n)} is cut off`);
    if (n.matches('button') && n.scrollWidth > n.clientWidth + 1) wrong.push(`${called(n)} has no room for its words`);
    const { overflowX, overflowY } = getComputedStyle(n);
    if (overflowX === 'auto' && n.scrollWidth > n.clientWidth + 1) wrong.push(`${called(n)} scrolls to the side: ${n.scrollWidth} of ${n.clientWidth}`);
    if (whole && overflowY === 'auto' && n.scrollHeight > n.clientHeight + 1) wrong.push(`${called(n)} scrolls: ${n.scrollHeight} of ${n.clientHeight}`);
  }
  leaves.forEach(({ n, box: a }, i) => {
    for (const { n: other, box: b } of leaves.slice(i + 1)) {
      if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3 && a.left < a.right && b.left < b.right && !n.contains(other) && !other.contains(n)) wrong.push(`${called(n)} and ${called(other)}`);
    }
  });
  for (const n of root.querySelectorAll('button, input:not(.part-picker), select, a')) {
    if (!seen(n) || n.closest('[inert]')) continue;
    n.scrollIntoView({ block: 'center' });
    const { left, top, width, height } = n.getBoundingClientRect();
    const hit = document.elementFromPoint(left + width / 2, top + height / 2);
    if (!hit || !(n === hit || n.contains(hit) || hit.contains(n) && hit.matches('label'))) wrong.push(`${called(n)} is under ${hit ? called(hit) : 'nothing'}`);
  }
  for (const n of [root, ...root.querySelectorAll('*')]) n.scrollTop = 0;
  scrollTo(0, 0);
  const { scrollWidth, scrollHeight } = document.documentElement;
  if (scrollWidth > innerWidth) wrong.push(`the page is ${scrollWidth - innerWidth} px too wide`);
  if (whole && scrollHeight > innerHeight) wrong.push(`the page is ${scrollHeight - innerHeight} px too high`);
  return [...new Set(wrong)];
}

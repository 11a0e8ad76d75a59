/** The pictures of worksheets: there for every lesson, as it is asked, and legible on paper. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, open, start } from '../browser.js';
import { inNode } from '../digest.js';

/** @import { Page } from 'puppeteer-core' */

/** Points of the smallest letters on paper, and of print for a pixel of it. */
const [LEAST_PT, PT] = [6, 0.75];
/** What is written in a picture, at least. */
const WORDS = 8;

/** Keeps the sizes of letters that are painted, and prints nothing. @param {Page} page */
const prepare = (page) => page.evaluate(() => {
  const painted = /** @type {{text: string, size: number}[]} */ ([]);
  Object.assign(window, { painted, print: () => { /** @type {any} */ (window).printed = document.querySelectorAll('.worksheet img').length; } });
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function sized(text, ...where) {
    const { a, b } = this.getTransform();
    const shown = this.canvas.getBoundingClientRect().width || parseFloat(this.canvas.style.width) || this.canvas.width;
    if (text.trim()) painted.push({ text, size: (parseFloat(/([\d.]+)px/.exec(this.font)?.[1] ?? '0') * Math.hypot(a, b) * shown) / this.canvas.width });
    return fillText.call(this, text, .../** @type {[number, number]} */ (where));
  };
});

/** Prints the sheet of the lesson, and measures its picture. @param {Page} page @param {boolean} answers */
const printed = (page, answers) => page.evaluate(async (wanted) => {
  const { printWorksheet } = await import(/** @type {any} */ ('#lab/lesson/worksheet.js'));
  const { room } = /** @type {any} */ (document.querySelector('servent-lab'));
  const all = /** @type {any} */ (window).painted;
  all.length = 0;
  await printWorksheet(room, wanted);
  const painted = [...all];
  const img = /** @type {HTMLImageElement|null} */ (document.querySelector('.worksheet figure img'));
  if (!img) return null;
  const width = img.naturalWidth;
  const canvas = new OffscreenCanvas(width, img.naturalHeight);
  const context = /** @type {any} */ (canvas.getContext('2d'));
  context.drawImage(img, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  let white = 0;
  const colours = new Set();
  for (let i = 0; i < data.length; i += 4 * 53) {
    colours.add(data.slice(i, i + 3).join());
    if (data[i] > 200 && data[i + 1] > 200 && data[i + 2] > 200) white += 1;
  }
  const text = decodeURIComponent(img.src.slice(img.src.indexOf(',') + 1));
  return { text, scale: Number(img.getAttribute('width')) / width, painted, colours: colours.size, white: white / (data.length / 4 / 53), printed: /** @type {any} */ (window).printed };
}, answers);

/** What is written in a picture, and how large: in a document of its own, where no policy keeps its styles away. @param {Page} page @param {string} drawn */
const written = (page, drawn) => page.evaluate((text) => {
  const svg = document.importNode(new DOMParser().parseFromString(text, 'image/svg+xml').documentElement, true);
  document.replaceChild(svg, document.documentElement);
  const all = [];
  const walker = document.createTreeWalker(svg, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = /** @type {Element} */ (node.parentElement);
    if (!node.nodeValue?.trim() || !parent.checkVisibility() || parent.closest('style, title, select, [hidden]')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const { width, height } = range.getBoundingClientRect();
    const size = parseFloat(getComputedStyle(parent).fontSize);
    // What is for the ear alone is clipped away.
    if (size > 0 && width > 1 && height > 1 && !parent.closest('.quiet')) all.push({ text: node.nodeValue.trim(), size });
  }
  return all;
}, drawn);

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    /** @type {Page} */
    let bare;
    before(async () => {
      started = await start(name);
      bare = await started.browser.newPage();
    });
    after(() => started.close());

    for (const view of ['queue', 'routing', 'unicast', 'swarm', 'meet']) {
      test(`${view}: every lesson's sheet has a picture whose letters can be read`, async () => {
        const core = /** @type {any} */ (await inNode());
        const lessons = core.Lesson.all().filter((/** @type {any} */ one) => one.view === view);
        assert.ok(lessons.length > 0);
        // As a teacher has it on a wall in the dark, at the last step.
        for (const [i, { id, steps }] of lessons.entries()) {
          const { page, complaints } = await open(started, `#1/${view}?les=${id}/${i % 2 ? steps.length : 1}`, { width: 1920, height: 1080, dark: true });
          await page.waitForSelector('lesson-panel h2');
          await page.evaluate(() => { document.documentElement.dataset.projector = ''; });
          await prepare(page);
          const now = await page.evaluate(() => /** @type {any} */ (document.querySelector('servent-lab')).session.run.now);
          for (const answers of [false, true]) {
            const found = await printed(page, answers);
            assert.ok(found, `${id}: a picture`);
            assert.equal(found.printed, 1, `${id}: it is there when it is printed`);
            const letters = [...await written(bare, found.text), ...found.painted].map(({ text, size }) => ({ text, pt: size * found.scale * PT }));
            assert.ok(letters.length >= WORDS, `${id}: ${letters.length} words`);
            assert.deepEqual(letters.filter(({ pt }) => pt < LEAST_PT), [], id);
            assert.ok(found.colours > 6, `${id}: ${found.colours} colours`);
            assert.ok(found.white > 0.6, `${id}: ${found.white} of it is white`);
          }
          const after = await page.evaluate(() => {
            const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
            const { theme, projector, paper = null } = document.documentElement.dataset;
            return { now: session.run.now, theme, projector, paper, panes: document.querySelectorAll('.panes > :not([hidden])').length };
          });
          assert.deepEqual(after, { now, theme: 'dark', projector: '', paper: null, panes: 1 }, `${id}: what is looked at stays`);
          assert.deepEqual(complaints, [], id);
          await page.close();
        }
      });
    }

    test('a picture that fails is said to be missing, and the sheet is printed without it', async () => {
      const { page } = await open(started, '#1/routing?les=flood/3');
      await page.waitForSelector('lesson-panel h2');
      await prepare(page);
      for (const broken of ['drawn', 'read']) {
        const found = await page.evaluate(async (what) => {
          const { printWorksheet } = await import(/** @type {any} */ ('#lab/lesson/worksheet.js'));
          const { room } = /** @type {any} */ (document.querySelector('servent-lab'));
          const [proto, method] = what === 'drawn' ? [HTMLCanvasElement.prototype, 'toDataURL'] : [HTMLImageElement.prototype, 'decode'];
          const whole = /** @type {any} */ (proto)[method];
          /** @type {any} */ (proto)[method] = () => { const why = new Error('no memory'); if (what === 'drawn') throw why; return Promise.reject(why); };
          document.querySelector('.notices')?.replaceChildren();
          await printWorksheet(room, false);
          /** @type {any} */ (proto)[method] = whole;
          return { said: document.querySelector('.notice.bad')?.textContent ?? '', pictures: document.querySelectorAll('.worksheet figure').length, text: (document.querySelector('.worksheet')?.textContent ?? '').length };
        }, broken);
        assert.match(found.said, /^The sheet has no picture: no memory/, broken);
        assert.equal(found.pictures, 0);
        assert.ok(found.text > 300);
      }
      await page.close();
    });
  });
}

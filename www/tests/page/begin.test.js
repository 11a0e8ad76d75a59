/** Before anything has happened no figure claims something: what has no value yet is a dash, or is not there. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, open, start } from '../browser.js';

const VIEWS = ['queue', 'routing', 'unicast', 'swarm', 'meet'];
/** Where figures stand. */
const FIGURES = '.outcomes dd, .figures, .routing-figures dd, .bound-ratio, .end .numbers, .meet-path span, lab-inspector dd';
/** A share, a length or a mean of nothing; none of what was never asked for. */
const EMPTY = /NaN|Infinity|undefined|null|(^|[^\d.,:])0[.,]0+(?![\d:])|(^|\D)0 (of|von|de|sur) 0(?!\d)|0 ÷|÷ 0|[≤≥<>] ?0\D|(^|\D)0 ?%|(^|\s)0–0(\s|$)/;

/** The figures of every story of a view at some instants, as parts of what is known. @param {import('puppeteer-core').Page} page @param {number[]} parts */
const figures = (page, parts) => page.evaluate(async (selector, parts) => {
  const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
  const texts = /** @type {[string, string][]} */ ([]);
  for (const { id } of session.view.presets()) {
    session.openPreset(id);
    const painted = /** @type {string[]} */ ([]);
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      if (this.canvas.closest('.panes')) painted.push(text);
      return fillText.call(this, text, ...rest);
    };
    for (const part of parts) {
      session.clock.seek(part * session.run.horizon);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const shown = [...document.querySelectorAll(selector)].filter((node) => node.checkVisibility()).map((node) => `${node.parentElement?.dataset.outcome ?? node.className} ${node.textContent?.trim()}`);
      texts.push(...[...shown, ...(part === 0 ? painted.splice(0) : [])].map((text) => /** @type {[string, string]} */ ([`${id} at ${part}`, text])));
    }
    CanvasRenderingContext2D.prototype.fillText = fillText;
  }
  return texts;
}, FIGURES, parts);

for (const name of BROWSERS) {
  describe(name, () => {
    /** @type {Awaited<ReturnType<typeof start>>} */
    let started;
    before(async () => { started = await start(name); });
    after(() => started.close());

    for (const view of VIEWS) {
      for (const language of ['en', 'de', 'es', 'fr']) {
        test(`${view}, ${language}: at the beginning no figure means nothing`, async () => {
          const { page, complaints } = await open(started, `#1/${view}?lang=${language}&t=0`);
          const all = await figures(page, [0]);
          assert.ok(all.length > 20, `${all.length} figures`);
          assert.deepEqual(all.filter(([, text]) => EMPTY.test(text)), []);
          assert.deepEqual(complaints, []);
          await page.close();
        });
      }
    }

    test('half of those who waited are never said to have waited less than nothing', async () => {
      const { page } = await open(started, '#1/queue?t=0');
      const all = await figures(page, [0.002, 0.01, 0.05, 0.1, 0.3, 0.6]);
      assert.ok(all.some(([, text]) => /half at once/.test(text)) && all.some(([, text]) => /half ≤ [1-9]/.test(text)), 'both are seen');
      assert.deepEqual(all.filter(([, text]) => /[≤] ?0\D|NaN|longest 0[.]00/.test(text)), []);
      await page.close();
    });
  });
}

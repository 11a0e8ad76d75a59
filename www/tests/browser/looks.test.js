/**
 * How it looks is how it looked when a person approved it: the views, a lesson and the room's
 * screens, from a phone to a wall. Chromium alone draws: where things are is measured in both
 * browsers (`stage`, `screens`), and what a measure does not see, a part that is hidden, a
 * colour, a cover, comes from the same style sheets. After a change that is wanted:
 * `node tests/looks.js --renew`, and look at what has changed in `tests/looks`.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BROWSERS, frame, start } from '../browser.js';
import { ROOM } from '../classroom.js';
import { PICTURES, SCREENS, changed, compared, kept, shown, still } from '../looks.js';

/** @import { Page } from 'puppeteer-core' */

/** Style sheets of a page that went wrong, and where one looks. @type {[string, string, string, string][]} */
const FAULTS = [
  ['a legend is missing', 'routing', 'laptop', '.routing-legend { visibility: hidden !important; }'],
  ['a legend is missing', 'swarm', 'phone', '.swarm-legend { visibility: hidden !important; }'],
  ['the stage covers Play', 'queue', 'laptop', '.lab-view { margin-block-end: -4rem; z-index: 9; background: var(--paper); }'],
  ['the stage covers Play', 'unicast', 'projector', '.lab-view { margin-block-end: -4rem; z-index: 9; background: var(--paper); }'],
  ['a state has another colour', 'queue', 'laptop', ':root { --open: #cc79a7; --open-wash: #f3d9e6; }'],
  ['a panel is hidden', 'queue', 'old', '.lab-side > * { visibility: hidden !important; }'],
  ['the map is missing', 'room', 'laptop', '.room-map { visibility: hidden; }'],
  ['the code is missing', 'room', 'old', '.room-code { visibility: hidden; }'],
];
/** Fonts that a machine may have instead: narrower and wider ones. */
const FONTS = ['Liberation Sans', 'DejaVu Sans'];

/** @param {Page} page @param {string} css */
const styled = (page, css) => page.evaluate((text) => {
  const made = new CSSStyleSheet();
  made.replaceSync(text);
  document.adoptedStyleSheets = text ? [made] : [];
  const session = /** @type {any} */ (document.querySelector('servent-lab'))?.session;
  session?.emit('theme');
  session?.clock.touch();
}, css);

for (const name of BROWSERS) {
  describe(name, { skip: name !== 'chromium' && 'one engine draws them' }, () => {
    /** @type {any} */ let started;
    before(async () => { started = await start(name, ROOM); });
    after(() => started.close());

    for (const one of Object.keys(PICTURES)) {
      test(`${one} looks as it did`, async () => {
        assert.deepEqual(await changed(started, one), []);
      });
    }

    test('what goes wrong is seen, and another font is not', async () => {
      const [unseen, wrong] = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];
      for (const one of new Set(FAULTS.map(([, picture]) => picture))) {
        const page = await still(started, one);
        const references = kept(one);
        const differs = async (/** @type {string} */ screen, /** @type {string} */ css) => {
          await styled(page, css);
          await shown(page, SCREENS[screen]);
          await frame(page);
          return compared(page, one, screen, references[screen], await page.screenshot({ optimizeForSpeed: true }), false);
        };
        const faults = FAULTS.filter(([, picture]) => picture === one);
        for (const [what, , screen, css] of faults) if (!(await differs(screen, css)).length) unseen.push(`${what}: ${one} at ${screen}`);
        // On a wall letters are so large that those of another font break lines elsewhere.
        for (const screen of new Set(faults.map(([, , where]) => where))) {
          for (const font of screen === 'projector' ? [] : FONTS) wrong.push(...(await differs(screen, `:root { --font: "${font}", sans-serif; }`)).map((said) => `${font}: ${said}`));
        }
        // The next test has the same document.
        await styled(page, '');
        await page.close();
      }
      assert.deepEqual([unseen, wrong], [[], []]);
    });
  });
}

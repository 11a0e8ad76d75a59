/** What axe finds wrong with a page. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
/** Of what passes nothing is listed, and no rule of these reads the style sheets as text. */
const RULES = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'], preload: false };
/** What colours alone decide. All else is judged once, in the light: it is the same in every other scheme, and takes more than half of the time. */
const COLOURS = { ...RULES, runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } };

/** A line for each rule that is broken. @param {import('puppeteer-core').Page} page @param {{colours?: boolean}} [only] */
export async function violations(page, { colours = false } = {}) {
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(AXE);
  const found = await page.evaluate((rules) => /** @type {any} */ (globalThis).axe.run(document, rules), colours ? COLOURS : RULES);
  return found.violations.map((/** @type {any} */ v) => `${v.id}: ${v.nodes.map((/** @type {any} */ n) => n.target.join(' ')).slice(0, 4).join(' | ')}`);
}

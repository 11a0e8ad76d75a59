/** A page of WebKit, with the part of Puppeteer's that the tests use. */
import { nextBefore } from './before.js';
import { WebKitElement } from './element.js';
import { Keyboard, Mouse } from './input.js';
import { place } from './session.js';

/** @typedef {Awaited<ReturnType<typeof import('./session.js').session>>} Session */
/** Waiting looks that often, and no longer than this, in milliseconds. */
const [LOOK_MS, WAIT_MS] = [40, 30_000];

/** What a page throws, as far as the page and not the driver threw it. */
class Thrown extends Error {}

/** Runs in the page: numbers that JSON does not have are named, and what the console was told comes along. @param {() => any} work */
function answered(work) {
  const said = () => /** @type {any} */ (globalThis).saidToTests?.splice(0) ?? [];
  const named = (/** @type {string} */ _, /** @type {any} */ value) => (typeof value === 'number' && !Number.isFinite(value) ? { number: String(value) } : value);
  const written = (/** @type {any} */ value) => {
    try {
      return JSON.stringify({ value, said: said() }, named);
    } catch {
      // Of what refers to itself no test wants to know.
      return JSON.stringify({ said: said() });
    }
  };
  return Promise.resolve().then(work).then(written, (why) => JSON.stringify({ why: String(why), said: said() }));
}
const read = (/** @type {string} */ answer) => JSON.parse(answer, (_, value) => (typeof value?.number === 'string' && Object.keys(value).length === 1 ? Number(value.number) : value));

export class WebKitPage {
  /** @type {string[]} */
  #before = [];
  /** @type {Map<string, Set<(event: any) => void>>} */
  #handlers = new Map();

  /** @param {Session} session @param {string} window */
  constructor(session, window) {
    this.ask = (/** @type {string} */ what, /** @type {string} */ method, /** @type {unknown} */ body) => session.ask(window, what, method, body);
    this.keyboard = new Keyboard(this.ask);
    this.mouse = new Mouse(this.ask);
  }

  /** @param {string} type @param {(event: any) => void} handler */
  on(type, handler) {
    this.#handlers.set(type, (this.#handlers.get(type) ?? new Set()).add(handler));
    return this;
  }

  /** @param {string} type @param {(event: any) => void} handler */
  off(type, handler) {
    this.#handlers.get(type)?.delete(handler);
    return this;
  }

  /** @param {{type: string, text: string}[]} said */
  #told(said) {
    for (const { type, text } of said) {
      const [name, event] = type === 'pageerror' ? [type, new Error(text)] : ['console', { type: () => type, text: () => text }];
      for (const handler of this.#handlers.get(name) ?? []) handler(event);
    }
  }

  /** @param {any[]} args */
  #given(args) {
    return args.map((one) => (one instanceof WebKitElement ? one.reference : one ?? null));
  }

  /** @param {((...args: any[]) => any)|string} work a text is run as it is @param {...any} args @returns {Promise<any>} */
  async evaluate(work, ...args) {
    if (typeof work === 'string') return this.ask('/execute/sync', 'POST', { script: work, args: [] });
    return this.#run(`const given = arguments; return (${answered})(() => (${work})(...given))`, args);
  }

  /** @param {string} script @param {any[]} args */
  async #run(script, args) {
    const { value, why, said } = read(await this.ask('/execute/sync', 'POST', { script, args: this.#given(args) }));
    this.#told(said);
    if (why !== undefined) throw new Thrown(why);
    return value;
  }

  /** @param {(...args: any[]) => any} work */
  async evaluateOnNewDocument(work) {
    this.#before.push(String(work));
  }

  /** @param {string} selector */
  async $(selector) {
    return (await this.$$(selector))[0] ?? null;
  }

  /** @param {string} selector */
  async $$(selector) {
    const found = await this.ask('/elements', 'POST', { using: 'css selector', value: selector });
    return found.map((/** @type {any} */ one) => new WebKitElement(this, one));
  }

  /** @param {string} selector @param {(node: any, ...args: any[]) => any} work @param {...any} args */
  async $eval(selector, work, ...args) {
    const node = await this.#one(selector);
    return this.evaluate(work, node, ...args);
  }

  /** @param {string} selector @param {(nodes: any[], ...args: any[]) => any} work @param {...any} args */
  $$eval(selector, work, ...args) {
    return this.#run(`const [selector, ...given] = arguments; return (${answered})(() => (${work})([...document.querySelectorAll(selector)], ...given))`, [selector, ...args]);
  }

  /** @param {string} selector */
  async #one(selector) {
    const found = await this.$(selector);
    if (!found) throw new Error(`there is no ${selector}`);
    return found;
  }

  /** @param {string} selector */
  async click(selector) {
    await (await this.#one(selector)).click();
  }

  /** @param {string} selector */
  async hover(selector) {
    await (await this.#one(selector)).hover();
  }

  /** @param {string} selector */
  async focus(selector) {
    await (await this.#one(selector)).focus();
  }

  /** @param {string} selector @param {string} text */
  async type(selector, text) {
    await (await this.#one(selector)).type(text);
  }

  /** @param {string} selector @param {...string} values */
  select(selector, ...values) {
    return this.$eval(selector, (node, wanted) => {
      for (const option of node.options) option.selected = wanted.includes(option.value);
      for (const type of ['input', 'change']) node.dispatchEvent(new Event(type, { bubbles: true }));
    }, values);
  }

  /** @param {string} what is waited for @param {number} timeout @param {() => Promise<any>} look */
  async #until(what, timeout, look) {
    const end = Date.now() + timeout;
    for (let trouble = ''; ;) {
      try {
        const found = await look();
        if (found) return found;
      } catch (why) {
        // While a document goes and another comes, nothing can be asked.
        if (why instanceof Thrown) throw why;
        trouble = ` (${why})`;
      }
      if (Date.now() > end) throw new Error(`waited ${timeout} ms for ${what}${trouble}`);
      await new Promise((done) => setTimeout(done, LOOK_MS));
    }
  }

  /** @param {(...args: any[]) => any} work @param {{timeout?: number}} [how] @param {...any} args */
  async waitForFunction(work, { timeout = WAIT_MS } = {}, ...args) {
    const value = await this.#until(String(work), timeout, () => this.evaluate(work, ...args));
    return { jsonValue: async () => value };
  }

  /** @param {string} selector @param {{timeout?: number, visible?: boolean, hidden?: boolean}} [how] */
  waitForSelector(selector, { timeout = WAIT_MS, visible = false, hidden = false } = {}) {
    return this.#until(selector, timeout, async () => {
      const found = await this.$(selector);
      const seen = found && (!(visible || hidden) || await found.evaluate((node) => node.checkVisibility({ visibilityProperty: true })));
      return hidden ? !seen : seen && found;
    });
  }

  /** Until another document is there than now. */
  async waitForNavigation() {
    await this.evaluate(() => { /** @type {any} */ (globalThis).leftByTests = true; });
    await this.#until('another document', WAIT_MS, () => this.evaluate(() => document.readyState === 'complete' && !('leftByTests' in globalThis)));
  }

  /** @param {string} url */
  async goto(url) {
    nextBefore(this.#before);
    await this.ask('/url', 'POST', { url });
  }

  async reload() {
    nextBefore(this.#before);
    await this.ask('/refresh', 'POST', {});
  }

  async goBack() {
    nextBefore(this.#before);
    await this.ask('/back', 'POST', {});
  }

  async goForward() {
    nextBefore(this.#before);
    await this.ask('/forward', 'POST', {});
  }

  /** The window has bars around the page. @param {{width: number, height: number}} size */
  async setViewport({ width, height }) {
    const look = () => this.evaluate(() => [innerWidth, innerHeight, outerWidth - innerWidth, outerHeight - innerHeight]);
    await this.#until(`${width} × ${height}`, WAIT_MS, async () => {
      const [w, h, aside, above] = await look();
      if (w === width && h === height) return true;
      await this.ask('/window/rect', 'POST', place(width + aside, height + above));
      const [now, high] = await look();
      return now === width && high === height;
    });
  }

  /** As PNG. @returns {Promise<Buffer>} */
  async screenshot() {
    return Buffer.from(await this.ask('/screenshot', 'GET'), 'base64');
  }

  async bringToFront() {
    await this.ask('/window', 'GET');
  }

  async close() {
    await this.ask('/window', 'DELETE');
  }
}

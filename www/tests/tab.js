/**
 * One browser for all tests of a process, and one tab that they use one after
 * the other. To start a browser or a tab costs more than most tests do.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import puppeteer from 'puppeteer-core';
import { launch as webkit } from './webkit/browser.js';

/** @typedef {import('puppeteer-core').Browser} Browser */
/** @typedef {import('puppeteer-core').Page} Page */
/** @typedef {'chromium'|'firefox'|'webkit'} Name */
/** @typedef {{browser: Browser, idle: Page[], nothing: string, end: () => Promise<void>}} Running */

/** Where a system keeps its browsers; `CHROMIUM` and `FIREFOX` override. */
const PATHS = {
  chromium: [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'],
  firefox: [process.env.FIREFOX, '/usr/bin/firefox-esr', '/usr/bin/firefox'],
};
const CHROMIUM_FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** @param {'chromium'|'firefox'} name */
function find(name) {
  const found = PATHS[name].find((file) => file && existsSync(file));
  if (!found) throw new Error(`${name} is missing: install it, or name it in ${name.toUpperCase()}`);
  return found;
}

/**
 * The address of an empty document. A tab that waits there stays in the process
 * that knows the page's scripts and module: in `about:blank` it would leave it,
 * and to compile them anew costs more than half of opening the page.
 * @returns {Promise<{url: string, close: () => void}>}
 */
function nothing() {
  const server = createServer((_, res) => res.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'max-age=3600' }).end('<!doctype html><link rel="icon" href="data:,">'));
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      resolve({ url: `http://127.0.0.1:${port}/`, close: () => { server.close(); server.closeAllConnections(); } });
    });
  });
}

/** A browser may take that long to close, in milliseconds. */
const CLOSE_MS = 2000;

/** Ends a browser and its helpers, which would write to its profile for a while: they are one group. @param {number|undefined} pid */
function killed(pid) {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/** @param {Name} name @returns {Promise<Running>} */
async function launch(name) {
  const empty = await nothing();
  if (name === 'webkit') {
    const { browser, end } = await webkit(empty.url);
    const ended = async () => {
      await end();
      empty.close();
    };
    return { browser: /** @type {any} */ (browser), idle: [], nothing: empty.url, end: ended };
  }
  const profile = mkdtempSync(path.join(tmpdir(), 'servent-page-'));
  const browser = await puppeteer.launch({
    browser: name === 'firefox' ? 'firefox' : 'chrome',
    executablePath: find(name),
    headless: true,
    userDataDir: profile,
    args: name === 'chromium' ? CHROMIUM_FLAGS : [],
    protocolTimeout: 60_000,
    // Firefox would tell of each of a hundred files three times, which takes it a third of the time to open the page.
    networkEnabled: false,
  });
  const end = async () => {
    // Nothing of it is kept: what it would still put in order may take it half a minute.
    await Promise.race([browser.close(), new Promise((done) => setTimeout(done, CLOSE_MS))]);
    killed(browser.process()?.pid);
    empty.close();
    // Helpers that still end may write to it for a moment, for which no test waits.
    spawn('sh', ['-c', 'sleep 1; rm -rf "$0"', profile], { detached: true, stdio: 'ignore' }).unref();
  };
  return { browser, idle: [], nothing: empty.url, end };
}

/** @type {Map<string, {running: Promise<Running>, users: number}>} */
const browsers = new Map();
/** A program that runs many files ends the browsers after the last. */
let kept = false;

/** Browsers stay when no test uses them, until {@link end}. */
export function keep() {
  kept = true;
}

/** Ends the browsers. */
export async function end() {
  const all = [...browsers.values()];
  browsers.clear();
  for (const { running } of all) await (await running).end();
}

/**
 * The browser of that name, started by the first who asks.
 * @param {Name} name
 */
export async function use(name) {
  const entry = browsers.get(name) ?? { running: launch(name), users: 0 };
  browsers.set(name, entry);
  entry.users += 1;
  const running = await entry.running;
  const release = async () => {
    entry.users -= 1;
    if (kept || entry.users > 0) return;
    browsers.delete(name);
    await running.end();
  };
  return { running, release };
}

/** What outlasts the document: after any of these a tab is not used again. */
const LASTS = /^(emulate|expose|authenticate|create|evaluateOnNewDocument|removeE|set(?!Viewport$|Content$))/;
/** A page is loaded anew after it was used so often: what it forgets may still lie in its memory. */
const USES = 8;

/** Where a tab is, and how it can be used again. @typedef {{at: string, uses: number, size: string}} Use */
/** @type {WeakMap<Page, Use>} */
const used = new WeakMap();

/**
 * A tab as good as new: the one that is free, or another. To close it is to
 * give it back.
 * @param {Running} running
 */
export async function tab(running) {
  const page = running.idle.pop() ?? await made(running);
  // Nothing is drawn in a tab behind another one.
  await page.bringToFront();
  await page.mouse.reset();
  return page;
}

/** @param {Running} running */
async function made(running) {
  const page = await running.browser.newPage();
  // So that the page can be begun again without being loaded.
  await page.evaluateOnNewDocument(() => {
    const heard = /** @type {[EventTarget, any[]][]} */ ([]);
    for (const target of [window, document]) {
      const add = target.addEventListener;
      target.addEventListener = (/** @type {any[]} */ ...args) => {
        heard.push([target, args]);
        add.apply(target, /** @type {any} */ (args));
      };
    }
    /** @type {any} */ (globalThis).unheard = () => {
      for (const [target, args] of heard.splice(0)) target.removeEventListener(.../** @type {[any, any, any]} */ (args));
      // Nothing that was to be done later is done.
      for (let i = window.setTimeout(() => {}); i > 0; i -= 1) clearTimeout(i);
      for (let i = requestAnimationFrame(() => {}); i > 0; i -= 1) cancelAnimationFrame(i);
    };
  });
  used.set(page, { at: '', uses: 0, size: '' });
  return wrapped(page, running);
}

/**
 * Shows the page of an address. Where the tab has it already, its element is
 * made anew: to load and link its scripts costs more than most tests do.
 * @param {Page} page @param {string} url without a fragment @param {string} hash @param {{width: number, height: number}} how
 */
export async function show(page, url, hash, { width, height }) {
  const use = /** @type {Use} */ (used.get(page));
  const size = `${width}×${height}`;
  if (use.size !== size) await page.setViewport({ width, height });
  const again = use.at === url;
  if (!again) await page.goto(url + hash);
  Object.assign(use, { size, at: url, uses: again ? use.uses + 1 : 0 });
  if (!again) return;
  await page.evaluate((fragment) => {
    history.replaceState(null, '', location.pathname + fragment);
    document.body.append(document.createElement('servent-lab'));
  }, hash);
}

/** Takes a page back to where it was before its element came. @param {Page} page */
const emptied = (page) => page.evaluate(() => {
  const lab = /** @type {any} */ (document.querySelector('servent-lab'));
  if (!lab?.session || !('unheard' in globalThis)) return false;
  lab.session.clock.pause();
  lab.live.stop();
  /** @type {any} */ (globalThis).unheard();
  for (const open of document.querySelectorAll('dialog[open]')) /** @type {HTMLDialogElement} */ (open).close();
  for (const node of [...document.body.children]) {
    // The page speaks through one region as long as it lives.
    if (node.hasAttribute('aria-live')) node.textContent = '';
    else node.remove();
  }
  const root = document.documentElement;
  for (const { name } of [...root.attributes]) if (name !== 'lang') root.removeAttribute(name);
  localStorage.clear();
  sessionStorage.clear();
  scrollTo(0, 0);
  return true;
});

/** @param {Page} page @param {Running} running */
function wrapped(page, running) {
  const own = /** @type {any} */ (page);
  const use = /** @type {Use} */ (used.get(page));
  const close = page.close.bind(page);
  let spent = false;
  for (let proto = Object.getPrototypeOf(page); proto && proto !== Object.prototype; proto = Object.getPrototypeOf(proto)) {
    for (const name of Object.getOwnPropertyNames(proto)) {
      if (typeof Object.getOwnPropertyDescriptor(proto, name)?.value !== 'function' || Object.hasOwn(own, name)) continue;
      const method = own[name].bind(page);
      if (LASTS.test(name)) own[name] = (/** @type {any[]} */ ...args) => { spent = true; return method(...args); };
      // A test that does these goes elsewhere, or wants another screen.
      else if (['goto', 'reload', 'goBack', 'goForward', 'setContent'].includes(name)) own[name] = (/** @type {any[]} */ ...args) => { use.at = ''; return method(...args); };
      else if (name === 'setViewport') own[name] = (/** @type {any[]} */ ...args) => { use.size = ''; return method(...args); };
    }
  }
  const listening = /** @type {[any, any][]} */ ([]);
  const on = page.on.bind(page);
  own.on = (/** @type {any} */ type, /** @type {any} */ handler) => { listening.push([type, handler]); return on(type, handler); };
  own.close = async () => {
    for (const [type, handler] of listening.splice(0)) page.off(type, handler);
    if (spent) return close();
    try {
      if (!use.at || use.uses >= USES || !await emptied(page)) {
        await page.evaluate(() => localStorage.clear());
        await page.goto(running.nothing);
      }
      running.idle.push(page);
    } catch {
      // It is of no use to the next test: perhaps it crashed.
      await close().catch(() => {});
    }
  };
  return page;
}

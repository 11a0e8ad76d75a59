/** Real browsers for the tests: those of the system, headless, each with a fresh profile. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import puppeteer from 'puppeteer-core';
import { serve } from './serve.js';

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

/** The browsers to test in: `BROWSERS=chromium,firefox`. */
export const BROWSERS = /** @type {('chromium'|'firefox')[]} */ ((process.env.BROWSERS ?? 'chromium,firefox').split(','));

/**
 * Starts a browser and a server for the page.
 * @param {'chromium'|'firefox'} name
 * @param {Parameters<typeof serve>[0]} [how]
 */
export async function start(name, how = {}) {
  const server = await serve({ pkg: process.env.SERVENT_PKG, ...how });
  const profile = mkdtempSync(path.join(tmpdir(), 'servent-page-'));
  const browser = await puppeteer.launch({
    browser: name === 'firefox' ? 'firefox' : 'chrome',
    executablePath: find(name),
    headless: true,
    userDataDir: profile,
    args: name === 'chromium' ? CHROMIUM_FLAGS : [],
    protocolTimeout: 60_000,
  });
  const close = async () => {
    await browser.close();
    server.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  return { browser, server, close };
}

/**
 * Opens the page at a fragment and waits until it runs. What the console says
 * is gathered.
 * @param {Awaited<ReturnType<typeof start>>} started
 * @param {string} [hash]
 * @param {{width?: number, height?: number, dark?: boolean, url?: string}} [how]
 */
export async function open({ browser, server }, hash = '', { width = 1280, height = 800, dark = false, url } = {}) {
  const page = await browser.newPage();
  const complaints = /** @type {string[]} */ ([]);
  page.on('console', (message) => { if (['error', 'warn', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.setViewport({ width, height });
  await page.goto((url ?? server.url) + hash);
  await page.waitForFunction(() => {
    const lab = /** @type {any} */ (document.querySelector('servent-lab'));
    return lab?.session?.run && document.querySelector('.transport');
  });
  // The profile is shared between the pages of a browser: begin as the system does.
  await page.evaluate((theme) => {
    localStorage.clear();
    document.documentElement.dataset.theme = theme;
    /** @type {any} */ (document.querySelector('servent-lab')).session.keys = true;
  }, dark ? 'dark' : 'light');
  // Colours fade to the other theme.
  await new Promise((done) => setTimeout(done, 250));
  return { page, complaints };
}

/** What the page is about, read from its session. @param {import('puppeteer-core').Page} page */
export function state(page) {
  return page.evaluate(() => {
    const { session } = /** @type {any} */ (document.querySelector('servent-lab'));
    const { run } = session;
    return {
      now: run.now, index: run.index, count: run.count, digest: run.digest, kind: run.kind, view: session.view.id, mode: session.mode, playing: session.playing,
      branch: session.branch, branches: run.branches().length, selected: session.selection.node, end: session.end, verified: run.verified(), faults: session.faults().length,
    };
  });
}

/** Waits for the next drawn frame. @param {import('puppeteer-core').Page} page */
export const frame = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null)))));

/**
 * A session of WebKitGTK's own browser, driven by its own driver over the
 * protocol of WebDriver, on a screen that is not shown.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

const DRIVER = process.env.WEBKIT_DRIVER ?? '/usr/bin/WebKitWebDriver';
const SCREEN = '/usr/bin/Xvfb';
/** The driver answers its first question within so many milliseconds, and is asked that often. */
const [START_MS, LOOK_MS] = [20_000, 50];
/** A script of a test, and a page to load, may take that long. */
const WAIT_MS = 60_000;
/** The buttons of the browser would keep its window wider than a phone. */
const NARROW = '* { font-size: 1px; padding: 0; margin: 0; min-width: 0; min-height: 0; border-width: 0; }';

/**
 * The screen, and where the top of a window stands on it: where nothing manages
 * windows that one has the focus which lies under the pointer, and the pointer
 * rests at the middle of the screen. So it is over the bar and not over the page.
 */
const [WIDTH, HEIGHT, BAR] = [2048, 2400, 5];

/** A place for a window. @param {number} width @param {number} height */
export const place = (width, height) => ({ x: Math.round((WIDTH - width) / 2), y: HEIGHT / 2 - BAR, width, height });

/** The browser that comes with WebKitGTK. */
const browser = () => LIBRARIES.flatMap((at) => (existsSync(at) ? readdirSync(at).filter((name) => name.startsWith('webkit')).map((name) => `${at}/${name}/MiniBrowser`) : [])).find((file) => existsSync(file));
const LIBRARIES = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib'];

/** Why there is no WebKit here, or nothing. */
export const missing = () => [DRIVER, SCREEN].filter((file) => !existsSync(file)).map((file) => `${file} is missing`).join(', ') || (browser() ? '' : 'MiniBrowser is missing');

/** A port that is free now. @returns {Promise<number>} */
const freePort = () => new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    server.close(() => resolve(port));
  });
});

/** @param {string} address @param {string} method @param {unknown} [body] */
async function asked(address, method, body) {
  const answer = await fetch(address, { method, headers: { 'content-type': 'application/json' }, body: body === undefined ? undefined : JSON.stringify(body) });
  const { value } = /** @type {any} */ (await answer.json());
  if (value?.error) throw new Error(`${value.error}: ${value.message}`);
  return value;
}

/** @param {string} base */
async function ready(base) {
  for (const end = Date.now() + START_MS; ;) {
    try {
      return await asked(`${base}/status`, 'GET');
    } catch (why) {
      if (Date.now() > end) throw why;
    }
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
}

/** A screen that is not shown, and its number. */
async function screen() {
  const shown = spawn(SCREEN, ['-displayfd', '3', '-screen', '0', `${WIDTH}x${HEIGHT}x24`, '-nolisten', 'tcp'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const display = await new Promise((resolve, reject) => {
    shown.once('error', reject);
    shown.once('exit', () => reject(new Error('there is no screen')));
    shown.stdio[3]?.once('data', (data) => resolve(String(data).trim()));
  });
  return { display, gone: () => shown.kill() };
}

/**
 * Starts a browser. What it is asked it is asked one after the other, and of the
 * window that is named.
 */
export async function session() {
  const why = missing();
  if (why) throw new Error(why);
  const home = mkdtempSync(path.join(tmpdir(), 'servent-webkit-'));
  mkdirSync(path.join(home, 'gtk-3.0'));
  writeFileSync(path.join(home, 'gtk-3.0/gtk.css'), NARROW);
  const { display, gone } = await screen();
  const port = await freePort();
  const own = { XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, XDG_CACHE_HOME: home };
  const env = { ...process.env, ...own, DISPLAY: `:${display}`, GDK_BACKEND: 'x11', LIBGL_ALWAYS_SOFTWARE: '1', WEBKIT_DISABLE_DMABUF_RENDERER: '1', NO_AT_BRIDGE: '1', GTK_A11Y: 'none' };
  // The browser is in the driver's group, and ends with it.
  const driver = spawn(DRIVER, [`--port=${port}`], { env, stdio: 'ignore', detached: true });
  const stop = () => {
    process.off('exit', stop);
    try {
      process.kill(-Number(driver.pid), 'SIGKILL');
    } catch {
      // It ended by itself.
    }
    gone();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  process.on('exit', stop);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  try {
    const base = `http://127.0.0.1:${port}`;
    await ready(base);
    const options = { binary: browser(), args: ['--automation'] };
    const { sessionId } = await asked(`${base}/session`, 'POST', { capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': options } } });
    const at = `${base}/session/${sessionId}`;
    await asked(`${at}/timeouts`, 'POST', { script: WAIT_MS, pageLoad: WAIT_MS });
    const first = await asked(`${at}/window`, 'GET');
    let current = first;
    let last = Promise.resolve();
    /** @param {string} window @param {string} what @param {string} method @param {unknown} [body] @returns {Promise<any>} */
    const ask = (window, what, method, body) => {
      const answer = last.then(async () => {
        if (window !== current) await asked(`${at}/window`, 'POST', { handle: window });
        current = window;
        return asked(at + what, method, body);
      });
      last = answer.then(() => {}, () => {});
      return answer;
    };
    const end = async () => {
      await asked(at, 'DELETE').catch(() => {});
      stop();
    };
    return { ask, first, end };
  } catch (error) {
    stop();
    throw error;
  }
}

/**
 * WebKit for the tests: WebKitGTK's own browser, driven by its own driver over
 * the protocol of WebDriver, on a screen that is not shown.
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';

const DRIVER = process.env.WEBKIT_DRIVER ?? '/usr/bin/WebKitWebDriver';
const SCREEN = '/usr/bin/Xvfb';
/** Waiting looks that often, and no longer than this, in milliseconds. */
const [LOOK_MS, WAIT_MS] = [50, 20_000];

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
async function ask(address, method, body) {
  const answer = await fetch(address, { method, headers: { 'content-type': 'application/json' }, body: body === undefined ? undefined : JSON.stringify(body) });
  const { value } = /** @type {any} */ (await answer.json());
  if (value?.error) throw new Error(`${value.error}: ${value.message}`);
  return value;
}

/** @param {() => Promise<any>} work */
async function until(work) {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const found = await work().catch((why) => { if (Date.now() > end) throw why; });
    if (found) return found;
    if (Date.now() > end) throw new Error(`nothing came of ${work}`);
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
}

/** Starts a browser with one window. @param {{width?: number, height?: number}} [how] */
export async function startWebKit({ width = 1280, height = 800 } = {}) {
  const screen = spawn(SCREEN, ['-displayfd', '3', '-screen', '0', '1920x1200x24', '-nolisten', 'tcp'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const display = await new Promise((resolve, reject) => {
    screen.once('error', reject);
    screen.once('exit', () => reject(new Error('there is no screen')));
    screen.stdio[3]?.once('data', (data) => resolve(String(data).trim()));
  });
  const port = await freePort();
  const env = { ...process.env, DISPLAY: `:${display}`, GDK_BACKEND: 'x11', LIBGL_ALWAYS_SOFTWARE: '1', WEBKIT_DISABLE_DMABUF_RENDERER: '1', NO_AT_BRIDGE: '1', GTK_A11Y: 'none' };
  const driver = spawn(DRIVER, [`--port=${port}`], { env, stdio: 'ignore' });
  const base = `http://127.0.0.1:${port}`;
  const stop = () => { driver.kill(); screen.kill(); };
  try {
    await until(() => ask(`${base}/status`, 'GET'));
    const options = { binary: browser(), args: ['--automation'] };
    const { sessionId } = await ask(`${base}/session`, 'POST', { capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': options } } });
    const at = `${base}/session/${sessionId}`;
    await ask(`${at}/timeouts`, 'POST', { script: WAIT_MS, pageLoad: WAIT_MS });
    await ask(`${at}/window/rect`, 'POST', { x: 0, y: 0, width, height }).catch(() => {});
    /** Runs a function of the page with the lab's session. @param {(session: any, ...args: any[]) => any} work @param {...any} args */
    const within = (work, ...args) => ask(`${at}/execute/sync`, 'POST', { script: `return (${work})(document.querySelector('servent-lab')?.session, ...arguments)`, args });
    return {
      within,
      /** @param {string} url */
      go: (url) => ask(`${at}/url`, 'POST', { url }),
      /** @param {(session: any, ...args: any[]) => any} work @param {...any} args */
      wait: (work, ...args) => until(() => within(work, ...args)),
      /** @param {string} selector */
      click: async (selector) => {
        const found = await ask(`${at}/element`, 'POST', { using: 'css selector', value: selector });
        return ask(`${at}/element/${Object.values(found)[0]}/click`, 'POST', {});
      },
      /** A picture, as PNG in base64. @returns {Promise<string>} */
      picture: () => ask(`${at}/screenshot`, 'GET'),
      close: async () => {
        await ask(at, 'DELETE').catch(() => {});
        stop();
      },
    };
  } catch (why) {
    stop();
    throw why;
  }
}

/** WebKit for the tests that ask it by the protocol of WebDriver alone. */
import { place, session } from './webkit/session.js';

export { missing } from './webkit/session.js';

/** Waiting looks that often, and no longer than this, in milliseconds. */
const [LOOK_MS, WAIT_MS] = [50, 20_000];

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
  const { ask: asked, first, end } = await session();
  /** @param {string} what @param {string} method @param {unknown} [body] */
  const ask = (what, method, body) => asked(first, what, method, body);
  await ask('/window/rect', 'POST', place(width, height)).catch(() => {});
  /** Runs a function of the page with the lab's session. @param {(session: any, ...args: any[]) => any} work @param {...any} args */
  const within = (work, ...args) => ask('/execute/sync', 'POST', { script: `return (${work})(document.querySelector('servent-lab')?.session, ...arguments)`, args });
  return {
    within,
    /** @param {string} url */
    go: (url) => ask('/url', 'POST', { url }),
    /** @param {(session: any, ...args: any[]) => any} work @param {...any} args */
    wait: (work, ...args) => until(() => within(work, ...args)),
    /** @param {string} selector */
    click: async (selector) => {
      const found = await ask('/element', 'POST', { using: 'css selector', value: selector });
      return ask(`/element/${Object.values(found)[0]}/click`, 'POST', {});
    },
    /** A picture, as PNG in base64. @returns {Promise<string>} */
    picture: () => ask('/screenshot', 'GET'),
    close: end,
  };
}

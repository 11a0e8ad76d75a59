/**
 * What runs in a document before its own scripts. The protocol has no means for
 * that, so the server of the tests puts it at the head of a document.
 */

/** Gathers what the console is told and what is thrown; the next answer of the page brings it. */
function gather() {
  const said = /** @type {{type: string, text: string}[]} */ ([]);
  /** @type {any} */ (globalThis).saidToTests = said;
  for (const type of /** @type {const} */ (['log', 'info', 'debug', 'warn', 'error'])) {
    const own = console[type].bind(console);
    console[type] = (...args) => {
      said.push({ type, text: args.map(String).join(' ') });
      own(...args);
    };
  }
  addEventListener('error', ({ error, message }) => said.push({ type: 'pageerror', text: String(error ?? message) }));
  addEventListener('unhandledrejection', ({ reason }) => said.push({ type: 'pageerror', text: String(reason) }));
  addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => said.push({ type: 'error', text: `${violatedDirective} forbids ${blockedURI}` }));
}

/** Those of the page that was spoken to last: it is the one that loads. @type {string[]} */
let scripts = [];

/** @param {string[]} all */
export function nextBefore(all) {
  scripts = all;
}

/** At the head it comes before the policy that would forbid it. */
export const head = () => `<script>${[String(gather), ...scripts].map((one) => `(${one})();`).join('\n')}document.currentScript.remove();</script>`;

/** A hosted copy of the page works without a network after one visit: a worker keeps its files. */

/** Nothing is kept of a page that a servent serves: it would be nothing without it. */
const hosted = () => document.querySelector('meta[name="servent-api"]')?.getAttribute('content') === 'none';

/** Begins when the page is there and idle, so that no user waits for it. */
export function keepOffline() {
  if (!isSecureContext || !('serviceWorker' in navigator) || !location.protocol.startsWith('http') || !hosted()) return;
  const begin = () => setTimeout(() => navigator.serviceWorker.register('sw.js').catch(() => {
    // A server without the worker, or a browser that keeps nothing: the page works as long as it is served.
  }), LATER_MS);
  if (document.readyState === 'complete') begin();
  else addEventListener('load', begin, { once: true });
}

/** The first picture is drawn before that, in milliseconds. */
const LATER_MS = 1500;

/** A wire between pages and a servent: it dies without a word, as those of phones do that sleep, or is cut and mended. */
import { connect, createServer } from 'node:net';

/** @param {number} port where the servent is @returns {Promise<{port: number, die: () => void, live: () => void, cut: () => void, mend: () => void, count: () => number, close: () => void}>} */
export async function wire(port) {
  const pairs = /** @type {Set<import('node:net').Socket[]>} */ (new Set());
  let [dead, off, count] = [false, false, 0];
  /** Those that came while it was cut. @type {(() => void)[]} */ const late = [];
  const server = createServer((from) => {
    from.on('error', () => {});
    if (dead) return void pairs.add([from]);
    if (off) return void late.push(() => join(from));
    return join(from);
  });
  const stop = (/** @type {import('node:net').Socket[]} */ pair) => { for (const end of pair) { end.unpipe(); end.pause(); } };
  /** @param {import('node:net').Socket[]} pair */
  const go = ([from, to]) => {
    from.pipe(to);
    to.pipe(from);
  };
  /** @param {import('node:net').Socket} from */
  function join(from) {
    if (from.destroyed) return;
    count += 1;
    const to = connect(port, '127.0.0.1');
    const pair = [from, to];
    pairs.add(pair);
    go(pair);
    to.on('error', () => from.destroy());
    from.on('close', () => { to.destroy(); pairs.delete(pair); });
  }
  await new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(null)));
  return {
    port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
    /** Nothing passes any more, on connections that are open or come; neither side is told. */
    die() {
      dead = true;
      for (const pair of pairs) stop(pair);
    },
    /** New connections pass again. */
    live() { dead = false; },
    /** Nothing passes until it is mended; then everything goes on, as on a network that was away. */
    cut() {
      off = true;
      for (const pair of pairs) stop(pair);
    },
    mend() {
      off = false;
      for (const pair of pairs) if (pair.length > 1) go(pair);
      for (const come of late.splice(0)) come();
    },
    /** Connections that have passed. */
    count: () => count,
    close() {
      server.close();
      for (const pair of pairs) for (const end of pair) end.destroy();
    },
  };
}

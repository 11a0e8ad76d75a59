/** A wire between pages and a servent that dies without a word, as those of phones do that sleep. */
import { connect, createServer } from 'node:net';

/** @param {number} port where the servent is @returns {Promise<{port: number, die: () => void, live: () => void, count: () => number, close: () => void}>} */
export async function wire(port) {
  const pairs = /** @type {Set<import('node:net').Socket[]>} */ (new Set());
  let [dead, count] = [false, 0];
  const server = createServer((from) => {
    from.on('error', () => {});
    if (dead) return void pairs.add([from]);
    count += 1;
    const to = connect(port, '127.0.0.1');
    const pair = [from, to];
    pairs.add(pair);
    from.pipe(to);
    to.pipe(from);
    to.on('error', () => from.destroy());
    from.on('close', () => { to.destroy(); pairs.delete(pair); });
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(null)));
  return {
    port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
    /** Nothing passes any more, on connections that are open or come; nobody is told. */
    die() {
      dead = true;
      for (const pair of pairs) for (const end of pair) { end.unpipe(); end.pause(); }
    },
    /** New connections pass again. */
    live() { dead = false; },
    /** Connections that have passed. */
    count: () => count,
    close() {
      server.close();
      for (const pair of pairs) for (const end of pair) end.destroy();
    },
  };
}

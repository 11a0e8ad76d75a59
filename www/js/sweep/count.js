/**
 * What one world comes to, in numbers. Nothing is imported here: workers load
 * this by its address, and the core beside it.
 */

/** What is counted. `worse` says in which direction. @typedef {{key: string, kind: 'time'|'count'|'share', worse: 1|-1}} Figure */

/** The core works so many milliseconds before it looks whether it shall stop. */
const SLICE_MS = 40;

/** Of every view; the first tells which seed is the worst. @type {Record<string, Figure[]>} */
export const FIGURES = {
  queue: [{ key: 'wait_median', kind: 'time', worse: 1 }, { key: 'wait_most', kind: 'time', worse: 1 }, { key: 'served', kind: 'count', worse: -1 }, { key: 'idle', kind: 'time', worse: 1 }, { key: 'lost', kind: 'count', worse: 1 }],
  routing: [{ key: 'found', kind: 'share', worse: -1 }, { key: 'messages', kind: 'count', worse: 1 }, { key: 'hits', kind: 'count', worse: -1 }],
  unicast: [{ key: 'last', kind: 'time', worse: 1 }, { key: 'datagrams', kind: 'count', worse: 1 }, { key: 'again', kind: 'count', worse: 1 }, { key: 'lost', kind: 'count', worse: 1 }],
  meet: [{ key: 'took', kind: 'time', worse: 1 }, { key: 'knocks', kind: 'count', worse: 1 }, { key: 'dropped', kind: 'count', worse: 1 }],
  swarm: [{ key: 'finish', kind: 'time', worse: 1 }, { key: 'whole', kind: 'share', worse: -1 }, { key: 'copies', kind: 'share', worse: 1 }],
};

/** What the core says, by the keys above; `null` where there is nothing to say. @type {Record<string, (source: any, run: any) => Record<string, number|null>>} */
const READ = {
  queue(source, run) {
    const server = run.nodes().find((/** @type {any} */ node) => node.role === 'server');
    const { served, lost, wait_median, wait_most, idle } = source.totals(server.id);
    return { served, lost, wait_median: served ? wait_median : null, wait_most: served ? wait_most : null, idle };
  },
  routing(source) {
    const { messages, hits, found, existing } = source.totals();
    return { messages, hits, found: existing ? found / existing : null };
  },
  unicast(source) {
    const { last, datagrams, again, lost, delivered, written } = source.totals();
    return { last: delivered < written ? null : last, datagrams, again, lost };
  },
  meet(source) {
    const { first_direct: took, knocks, dropped } = source.totals();
    return { took, knocks, dropped };
  },
  swarm(source) {
    const { at, whole, wanting, source_copies: copies } = source.outcome();
    return { finish: at, whole: wanting ? whole / wanting : null, copies: copies / 1000 };
  },
};

/**
 * Runs a world to its end, a little at a time: each step gives nothing, until
 * the last gives the numbers.
 * @param {any} core the module @param {string} view @param {any} scenario
 * @returns {Generator<null, Record<string, number|null>>}
 */
export function* counted(core, view, scenario) {
  const world = core.World.fromScenario(view, scenario);
  const source = world[view]();
  const run = source.run();
  try {
    while (!run.explore(SLICE_MS)) yield null;
    run.seek(run.horizon());
    return READ[view](source, run);
  } finally {
    run.free();
    source.free();
    world.free();
  }
}

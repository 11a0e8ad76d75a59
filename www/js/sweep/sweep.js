/** Many seeds of one scenario, run in workers; where there can be none, between two frames of the page. */
import * as core from '#servent';
import { bytesOf, isPanic } from '#lab/core.js';
import { t } from '#lab/strings.js';
import { counted } from '#lab/sweep/count.js';

/** One world to run, and what it came to, or why it could not be run. @typedef {{seed: number, way: number, scenario: any, figures?: Record<string, number|null>, why?: string}} World */

/** More at once would starve the page. */
const WORKERS = 4;
/** A worker that is not ready after so many milliseconds never will be. */
const READY_MS = 10_000;

export class Sweep {
  /** @type {Worker[]} */ #workers = [];
  #next = 0;
  #stopped = false;
  done = 0;

  /** @param {string} view @param {World[]} worlds @param {(world: World) => void} told of each that is done */
  constructor(view, worlds, told) {
    this.view = view;
    this.worlds = worlds;
    this.told = told;
  }

  /** Runs all of them; resolves when it is over or was stopped. */
  async run() {
    const many = Math.min(WORKERS, Math.max(1, navigator.hardwareConcurrency - 1), this.worlds.length);
    const started = await Promise.all(Array.from({ length: many }, () => this.#start()));
    const workers = started.filter((worker) => worker !== null);
    await Promise.all(workers.map((worker) => this.#feed(worker)));
    // Where there is no worker, or none is left.
    await this.#here();
    this.stop();
  }

  stop() {
    this.#stopped = true;
    for (const worker of this.#workers) worker.terminate();
    this.#workers = [];
  }

  /** True while worlds are run beside the page. */
  get beside() { return this.#workers.length > 0; }

  /** A worker that has loaded the core, or null. @returns {Promise<Worker|null>} */
  async #start() {
    try {
      const worker = new Worker(import.meta.resolve('#lab/sweep/worker.js'), { type: 'module' });
      this.#workers.push(worker);
      const wasm = await bytesOf();
      const ready = new Promise((resolve) => {
        worker.addEventListener('message', ({ data }) => resolve(Boolean(data.ready)), { once: true });
        worker.addEventListener('error', () => resolve(false), { once: true });
        setTimeout(() => resolve(false), READY_MS);
      });
      worker.postMessage({ wasm, core: import.meta.resolve('#servent'), count: import.meta.resolve('#lab/sweep/count.js') });
      if (await ready) return worker;
      worker.terminate();
      this.#workers = this.#workers.filter((one) => one !== worker);
    } catch { /* A browser that allows none here: the page does it. */ }
    return null;
  }

  /** Gives a worker one world after the other. @param {Worker} worker @returns {Promise<void>} */
  #feed(worker) {
    return new Promise((over) => {
      /** What it works at. @type {World|null} */
      let hand = null;
      const give = () => {
        const world = this.worlds[this.#next];
        hand = world ?? null;
        if (!world || this.#stopped) return over();
        this.#next += 1;
        return worker.postMessage({ id: this.worlds.indexOf(world), view: this.view, scenario: world.scenario });
      };
      worker.addEventListener('message', ({ data }) => {
        this.#take(this.worlds[data.id], data);
        give();
      });
      // It has ended, and its world with it.
      worker.addEventListener('error', ({ message }) => {
        if (hand) this.#take(hand, { why: message || t('sweep.ended') });
        over();
      });
      give();
    });
  }

  /** The same on the page itself. */
  async #here() {
    for (; this.#next < this.worlds.length && !this.#stopped; this.#next += 1) {
      const world = this.worlds[this.#next];
      try {
        const run = counted(core, this.view, world.scenario);
        let step = run.next();
        while (!step.done && !this.#stopped) {
          await new Promise((done) => setTimeout(done));
          step = run.next();
        }
        if (step.done) this.#take(world, { figures: step.value });
        else run.return({});
      } catch (why) {
        this.#take(world, { why: why instanceof Error ? why.message : String(why) });
        // The page's own instance is of no use any more.
        if (isPanic(why)) throw why;
      }
    }
  }

  /** @param {World} world @param {{figures?: Record<string, number|null>, why?: string}} came */
  #take(world, { figures, why }) {
    if (this.#stopped) return;
    if (figures) world.figures = figures;
    else world.why = why ?? t('sweep.ended');
    this.done += 1;
    this.told(world);
  }
}

/** Many seeds of one scenario, run in workers; where there can be none, between two frames of the page. */
import * as core from '#servent';
import { bytesOf } from '#lab/core.js';
import { counted } from '#lab/sweep/count.js';

/** One world to run, and what it came to. @typedef {{seed: number, way: number, scenario: any, figures?: Record<string, number|null>}} World */

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
    if (workers.length === 0) await this.#here();
    else await Promise.all(workers.map((worker) => this.#feed(worker)));
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
      const give = () => {
        const world = this.worlds[this.#next];
        if (!world || this.#stopped) return over();
        this.#next += 1;
        return worker.postMessage({ id: this.worlds.indexOf(world), view: this.view, scenario: world.scenario });
      };
      worker.addEventListener('message', ({ data }) => {
        this.#take(this.worlds[data.id], data.figures ?? {});
        give();
      });
      worker.addEventListener('error', () => over());
      give();
    });
  }

  /** The same on the page itself. */
  async #here() {
    for (; this.#next < this.worlds.length && !this.#stopped; this.#next += 1) {
      const world = this.worlds[this.#next];
      const run = counted(core, this.view, world.scenario);
      let step = run.next();
      while (!step.done && !this.#stopped) {
        await new Promise((done) => setTimeout(done));
        step = run.next();
      }
      if (step.done) this.#take(world, step.value);
      else run.return({});
    }
  }

  /** @param {World} world @param {Record<string, number|null>} figures */
  #take(world, figures) {
    if (this.#stopped) return;
    world.figures = figures;
    this.done += 1;
    this.told(world);
  }
}

/** The real program, for the tests: whatever goes wrong in one, no servent stays behind, and no test waits for one for ever. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** The program to run, if any. */
export const PROGRAM = process.env.SERVENT_PROGRAM;
/** A program that was told to end may take that long, in milliseconds. */
const END_MS = 10_000;

/** @typedef {import('node:child_process').ChildProcessByStdio<null, import('node:stream').Readable, null>} Child */

/** Those that run. @type {Set<Child>} */
const running = new Set();

/** Runs it. @param {string[]} words @param {string} [place] where its files are @returns {Child} */
export function run(words, place) {
  const here = place ? { cwd: place, env: { ...process.env, XDG_CONFIG_HOME: place } } : {};
  const child = spawn(String(PROGRAM), words, { ...here, stdio: ['ignore', 'pipe', 'inherit'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/**
 * What it has said up to all that is wanted, by event.
 * @param {Child} child @param {string[]} wanted @returns {Promise<Record<string, any>>}
 */
export async function heard(child, wanted) {
  /** @type {Record<string, any>} */
  const told = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const one = JSON.parse(line);
    told[one.event] = one;
    if (!wanted.every((event) => told[event])) continue;
    // What else it says is not read, and must not stop it.
    child.stdout.resume();
    return told;
  }
  throw new Error(`${child.spawnargs.join(' ')} ended before it said ${wanted.filter((event) => !told[event]).join(' and ')}`);
}

/** Tells it to end, and waits until it has. @param {Child} child */
export async function end(child) {
  if (!running.has(child)) return;
  const ended = new Promise((done) => child.once('exit', () => done(true)));
  child.kill('SIGINT');
  /** @type {NodeJS.Timeout|undefined} */ let timer;
  const late = new Promise((done) => { timer = setTimeout(done, END_MS, false); });
  const well = await Promise.race([ended, late]);
  clearTimeout(timer);
  if (well) return;
  child.kill('SIGKILL');
  throw new Error(`${child.spawnargs.join(' ')} did not end within ${END_MS / 1000} s`);
}

/** Ends all that a failed test left running. */
export function endAll() {
  for (const child of running) child.kill('SIGKILL');
}
process.once('exit', endAll);

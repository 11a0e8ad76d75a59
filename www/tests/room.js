/** A room of the real program, and pages that join it, for the tests. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { WWW } from './serve.js';

/** The program to run, if any. */
export const PROGRAM = process.env.SERVENT_PROGRAM;
/** Bytes of its song. */
export const SIZE = 3_000_000;

/** A room on free ports of the loopback, with one song. @param {string[]} more @returns {Promise<any>} */
export async function room(...more) {
  const dir = mkdtempSync(path.join(tmpdir(), 'servent-room-'));
  const song = randomBytes(SIZE);
  writeFileSync(path.join(dir, 'long song.ogg'), song);
  const run = spawn(String(PROGRAM), ['room', path.join(dir, 'long song.ogg'), '--json', '--listen', '127.0.0.1:0', '--page', '127.0.0.1:0', '--state', path.join(dir, 'state'), '--set', `www=${WWW}`, ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
  const facts = /** @type {Record<string, any>} */ ({});
  for await (const line of createInterface({ input: run.stdout })) {
    const fact = JSON.parse(line);
    facts[fact.event] = fact;
    if (facts.screen && facts.hashed) break;
  }
  run.stdout.resume();
  const close = () => new Promise((done) => {
    run.once('exit', () => done(rmSync(dir, { recursive: true, force: true })));
    run.kill('SIGINT');
  });
  return { song, url: facts.room.url, screen: facts.screen.url, close };
}

/** @param {import('puppeteer-core').Browser} browser @param {string} url */
export async function join(browser, url, width = 1280) {
  const page = await browser.newPage();
  const complaints = /** @type {string[]} */ ([]);
  page.on('console', (message) => { if (['error', 'warn', 'warning'].includes(message.type())) complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.setViewport({ width, height: 860 });
  await page.goto(url);
  await page.waitForSelector('part-screen[data-ready] .part-state[data-on]');
  return { page, complaints };
}

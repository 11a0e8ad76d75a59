/**
 * The clock of the page: where it stands, how fast it goes, and the frames that
 * are drawn. It owns when; what is looked at is the session's.
 */
import { announce } from '#lab/dom.js';
import { Ease } from '#lab/session/ease.js';
import { isHidden } from '#lab/session/future.js';
import { nearestLoss } from '#lab/search.js';
import { t } from '#lab/strings.js';

/** @import { Run } from './run.js' */
/** @import { Session } from './session.js' */

export const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 300, 1000];

/** A longer silence between two frames is not caught up with. */
const GAP_MS = 500;
/** What the core may take of a frame. */
const SLICE_MS = 4;

export class Clock {
  /** @param {Session} session */
  constructor(session) { this.session = session; }

  playing = false;
  speed = 20;
  ease = new Ease();
  /** The clock does not go beyond this instant while something is asked about it. */
  limit = Infinity;
  /** No frame skips this instant. */ mark = Infinity;
  /** Playing pauses here once. */ halt = Infinity;
  /** Where a lesson shows something, long waits pass quickly. @type {import('./ease.js').Pace|null} */ pace = null;
  #last = 0;
  #frame = 0;
  #moved = true;

  /** Where the timeline of all runs ends. */
  get end() { return Math.min(this.limit, Math.max(0, ...this.session.runs().map((run) => run.end))); }

  /** Something changed: draw at the next frame. */
  touch() {
    this.#moved = true;
    if (!this.#frame) this.#frame = requestAnimationFrame((at) => this.#tick(at));
  }

  play() {
    if (!this.session.run) return;
    if (this.session.live) this.session.live.follow = false;
    if (this.session.run.now >= this.end) this.seek(this.session.run.origin);
    this.playing = true;
    this.#last = 0;
    this.session.emit('play');
    this.touch();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.session.emit('play');
  }

  toggle() {
    if (!this.playing) return this.play();
    this.pause();
    return this.session.say();
  }

  /** @param {number} by */
  changeSpeed(by) {
    this.pace = null;
    const i = SPEEDS.indexOf(this.speed) + by;
    this.speed = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, i))];
    this.session.emit('play');
    announce(t('time.speed', { speed: this.speed }));
  }

  /** @param {number} us */
  seek(us) {
    if (!this.session.run) return;
    if (this.session.live) this.session.live.follow = false;
    const to = Math.min(this.limit, this.session.run.horizon, Math.max(this.session.run.origin, us));
    this.session.guard(() => this.session.runs().forEach((run) => run.raw.seek(to)));
    this.session.emit('play');
    this.touch();
  }

  /** @param {number} i */
  seekEvent(i) {
    const run = this.session.run;
    if (!run) return;
    if (this.session.live) this.session.live.follow = false;
    this.pause();
    this.session.guard(() => {
      run.raw.seekEvent(i);
      if (run.now > this.limit) run.raw.seek(this.limit);
      this.session.other?.raw.seek(run.now);
    });
    this.session.emit('play');
    this.touch();
    this.session.say();
  }

  /** @param {number} by @param {boolean} [ofSelection] */
  step(by, ofSelection = false) {
    const run = this.session.run;
    if (!run) return;
    if (this.session.live) this.session.live.follow = false;
    this.pause();
    const node = this.session.selection.node ?? (this.session.selection.ticket ? run.home.id : null);
    this.session.guard(() => {
      if (ofSelection && node !== null) run.raw.stepNode(node, by);
      else run.raw.step(by);
      if (run.now > this.limit) run.raw.seek(this.limit);
      this.session.other?.raw.seek(run.now);
    });
    this.session.emit('play');
    this.touch();
    this.session.say();
  }

  /** To the next event, or the one before, by which something is lost or a rule is broken. @param {1|-1} by */
  toLoss(by) {
    const run = this.session.run;
    if (!run) return undefined;
    if (by > 0 && isHidden()) return this.session.notice(t('time.loss.hidden'));
    const seq = nearestLoss(run, by);
    return seq === null ? this.session.notice(t(by > 0 ? 'time.loss.none' : 'time.loss.first')) : this.seekEvent(seq);
  }

  /** @param {number} at */
  #tick(at) {
    this.#frame = 0;
    const run = this.session.run;
    if (!run) return;
    const gap = this.#last ? at - this.#last : 0;
    this.#last = at;
    const index = run.index;
    if (this.session.live?.follow) this.session.guard(() => run.raw.seek(run.horizon));
    else if (this.playing) this.#advance(run, gap > GAP_MS ? 0 : gap);
    if (this.playing || this.session.live?.follow || this.#moved || run.index !== index) {
      this.#moved = false;
      if (this.session.run) {
        this.session.drawn = { now: this.session.run.now, index: this.session.run.index };
        this.session.guard(() => { if (!this.session.sought.look(this.session.runs(), [this.session.actions.branch, this.session.actions.twins.get(this.session.actions.branch) ?? 0])) this.#moved = true; });
        this.session.emit('frame');
      }
    }
    const idle = this.session.run ? this.#explore() : true;
    if (this.playing || !idle || this.#moved) this.touch();
  }

  /** @param {Run} run @param {number} ms */
  #advance(run, ms) {
    const us = this.pace ? this.pace.ahead(run.now, ms) : ms * 1000 * this.speed * this.ease.factor(run, this.speed, `${this.session.actions.branch}|${this.session.actions.log.length}`);
    const before = run.now;
    const ahead = (/** @type {number} */ at) => (at > before ? at : Infinity);
    const to = Math.min(this.end, ahead(this.mark), ahead(this.halt), this.session.view.ahead?.(this.session, us) ?? before + us);
    this.session.guard(() => {
      const reached = run.advance(to, SLICE_MS / this.session.runs().length);
      if (this.session.other) this.session.other.advance(reached, SLICE_MS / 2);
    });
    if (this.session.run && (run.now >= this.end || (before < this.halt && run.now >= this.halt))) this.pause();
  }

  /** Runs the future ahead while there is time; true when all is known. */
  #explore() {
    let done = true;
    const before = this.known;
    this.session.guard(() => this.session.runs().forEach((run) => { done = run.explore(this.playing ? 1 : SLICE_MS / 2) && done; }));
    this.known = this.session.run?.count ?? 0;
    if (this.known !== before) this.session.emit('known');
    return done;
  }
  known = 0;
}

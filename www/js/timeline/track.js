/** `<time-track>`: the density of events over time, a slider over it, pins and branches below. */
import { el, icon, setAttr } from '#lab/dom.js';
import { clock, count } from '#lab/format.js';
import { isHidden, told } from '#lab/session/future.js';
import { onColours } from '#lab/theme.js';
import { t } from '#lab/strings.js';
import { words } from '#lab/timeline/words.js';

/** @import * as T from '../types' */
/** @import { Session } from '../session/session.js' */

/** Pins nearer than this many pixels share one sign. */
const PIN_APART = 26;
/** A pin with so many pixels before the next says what it is. */
const PIN_WORDS = 96;
/** While its world is found out the line is drawn this often, in milliseconds. */
const GROW_MS = 100;
/** What PgUp and PgDn move, as a part of the whole. */
const PAGE = 0.1;

export class TimeTrack extends HTMLElement {
  #pinShape = '';
  #branchShape = '';
  #drawn = '';
  #known = -1;
  #at = 0;
  #late = 0;

  /** @param {Session} session */
  connect(session) {
    this.session = session;
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { 'aria-hidden': 'true' }));
    this.knob = el('span', { class: 'knob', 'aria-hidden': 'true' });
    this.tip = el('span', { class: 'tip', 'aria-hidden': 'true', hidden: true });
    this.track = el('div', { class: 'track', role: 'slider', tabindex: '0', 'aria-label': t('time.track'), 'aria-valuemin': '0' }, this.canvas, this.knob);
    this.pins = el('div', { class: 'pins' });
    this.branches = el('div', { class: 'branches', role: 'group', 'aria-label': t('time.branches') });
    this.replaceChildren(this.track, this.pins, this.branches, this.tip);
    this.track.addEventListener('pointerdown', (/** @type {PointerEvent} */ e) => this.#drag(e));
    this.track.addEventListener('keydown', (/** @type {KeyboardEvent} */ e) => this.#key(e));
    this.#hints();
    for (const type of ['frame', 'run', 'faults', 'known']) session.addEventListener(type, () => this.update());
    new ResizeObserver(() => this.update()).observe(this);
    onColours(() => this.redraw());
  }

  /** What lies under the pointer, or under the focus of the keyboard. */
  #hints() {
    const hide = () => { this.tip.hidden = true; };
    this.track.addEventListener('pointermove', (/** @type {PointerEvent} */ e) => {
      const { left, width } = this.track.getBoundingClientRect();
      this.#say(Math.min(1, Math.max(0, (e.clientX - left) / width)));
    });
    this.track.addEventListener('pointerleave', hide);
    this.track.addEventListener('focus', () => { if (this.track.matches(':focus-visible')) this.#say(null); });
    this.track.addEventListener('blur', hide);
    for (const type of ['pointerover', 'focusin']) {
      this.pins.addEventListener(type, (/** @type {Event} */ e) => {
        const pin = /** @type {Element} */ (e.target).closest('.pin');
        if (pin instanceof HTMLElement) this.#say(Number(pin.dataset.at), pin.getAttribute('aria-label') ?? '');
      });
    }
    for (const type of ['pointerout', 'focusout']) this.pins.addEventListener(type, hide);
  }

  /** Shows a time above the track, or a sentence; without a place, where the knob is. @param {number|null} at part of the whole @param {string} [text] */
  #say(at, text) {
    const { session } = this;
    const run = session?.run;
    if (!session || !run) return;
    const length = Math.max(1, session.clock.end - run.origin);
    this.#follows = at === null;
    const there = at ?? (run.now - run.origin) / length;
    this.tip.textContent = text ?? clock(there * length);
    this.tip.hidden = false;
    const room = this.clientWidth;
    const half = this.tip.offsetWidth / 2;
    this.tip.style.setProperty('--x', `${Math.min(room - half, Math.max(half, there * this.track.clientWidth + this.track.offsetLeft))}px`);
  }
  /** The hint goes where the knob goes. */
  #follows = false;

  redraw() {
    this.#drawn = '';
    this.update();
  }

  update() {
    const run = this.session?.run;
    if (!this.session || !run || !this.track) return;
    const length = Math.max(1, this.session.clock.end - run.origin);
    const now = run.now - run.origin;
    this.knob.style.setProperty('--at', `${(now / length) * 100}%`);
    setAttr(this.track, 'aria-valuemax', String(Math.round(length / 1e6)));
    setAttr(this.track, 'aria-valuenow', String(Math.round(now / 1e6)));
    setAttr(this.track, 'aria-valuetext', t('time.at', { now: clock(now), end: clock(length), i: run.index }));
    if (this.#follows && !this.tip.hidden) this.#say(null);
    this.#draw(length);
    this.#pin(length);
    this.#branch(length);
  }

  /** @param {number} length */
  #draw(length) {
    const run = this.session?.run;
    const canvas = this.canvas;
    if (!run || !canvas) return;
    const width = canvas.clientWidth;
    // What lies ahead is cut off at the clock, where it is hidden.
    const seen = isHidden() ? ((run.now - run.origin) / length) * width : width;
    const shape = `${width}|${length}|${this.session?.actions.branch}|${document.documentElement.dataset.theme}|${Math.round(seen)}`;
    if ((shape === this.#drawn && run.count === this.#known) || width === 0) return;
    // While the future is being found out the line grows a few times a second.
    const wait = shape === this.#drawn ? this.#at + GROW_MS - performance.now() : 0;
    clearTimeout(this.#late);
    if (wait > 0) {
      this.#late = window.setTimeout(() => this.update(), wait);
      return;
    }
    this.#drawn = shape;
    this.#known = run.count;
    this.#at = performance.now();
    const scale = Math.min(2, devicePixelRatio || 1);
    const height = canvas.clientHeight;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    ctx.scale(scale, scale);
    const style = getComputedStyle(canvas);
    // The core counts up to the horizon; what is drawn may end before it.
    const wanted = Math.max(1, Math.floor(width / 4));
    const whole = (run.horizon - run.origin) / length;
    const bins = [...run.density(Math.round(wanted * whole))].slice(0, wanted);
    const most = Math.log1p(Math.max(1, ...bins.slice(0, Math.ceil((seen / width) * bins.length))));
    ctx.fillStyle = style.outlineColor;
    ctx.fillRect(0, height - 1, width, 1);
    ctx.fillStyle = style.color;
    bins.forEach((n, i) => {
      if (n === 0 || (i / bins.length) * width > seen) return;
      const tall = Math.max(2, (Math.log1p(n) / most) * (height - 6));
      ctx.fillRect((i / bins.length) * width, height - tall, width / bins.length - 1, tall);
    });
  }

  /** @param {number} length */
  #pin(length) {
    const run = this.session?.run;
    if (!run) return;
    const width = this.pins.clientWidth || 1;
    const pins = run.pins().filter(({ at }) => told(at, run.now));
    const shape = `${width}|${length}|${pins.map((p) => p.seq).join()}`;
    if (shape === this.#pinShape) return;
    this.#pinShape = shape;
    let last = -Infinity;
    const nodes = pins.flatMap((pin, i) => {
      const at = (pin.at - run.origin) / length;
      if (at * width - last < PIN_APART) return [];
      last = at * width;
      const next = pins.slice(i + 1).map((p) => ((p.at - run.origin) / length) * width).find((x) => x - last >= PIN_APART) ?? width;
      return [this.#sign(pin, at, next - last)];
    });
    this.pins.replaceChildren(...nodes);
  }

  /** A sign on the line; in words too, where there is room for them. @param {T.Pin} pin @param {number} at @param {number} room */
  #sign(pin, at, room) {
    const run = /** @type {import('../session/run.js').Run} */ (this.session?.run);
    const { text, short } = words(run, pin);
    const wide = room > PIN_WORDS;
    const label = t(`time.pin.${pin.kind}`, { at: clock(pin.at - run.origin), text }) + (wide && short !== text ? ` – ${short}` : '');
    const sign = el('button', { class: 'pin', type: 'button', 'aria-label': label, data: { kind: pin.kind, at: String(at) }, on: { click: () => this.session?.clock.seekEvent(pin.seq) } },
      icon(pin.kind === 'fault' ? 'flag' : 'alert'), wide ? el('span', { text: short }) : null);
    sign.style.setProperty('--at', `${at * 100}%`);
    sign.style.setProperty('--room', `${room}px`);
    return sign;
  }

  /** One line a branch, from where it left its parent. @param {number} length */
  #branch(length) {
    const { session } = this;
    const run = session?.run;
    if (!session || !run) return;
    const branches = run.branches();
    const shape = `${run.kind}${run.together}|${length}|${session.actions.branch}|${branches.map((b) => `${b.id}:${b.at}`).join()}`;
    if (shape === this.#branchShape) return;
    this.#branchShape = shape;
    if (branches.length < 2) return void this.branches.replaceChildren(el('p', { class: 'branches-none', text: run.together ? '' : t(run.kind === 'trace' ? 'whatif.branches' : 'time.branches.none') }));
    this.branches.replaceChildren(...branches.map((branch, i) => {
      const name = i === 0 ? t('time.branch.main') : branch.name || t('time.branch.nth', { n: i });
      const at = Math.max(0, branch.parent === null ? 0 : (branch.at - run.origin) / length);
      const node = el('button', { class: 'branch', type: 'button', 'aria-current': branch.id === session.actions.branch ? 'true' : null, title: t('time.branch', { name, at: clock(at * length) }), on: { click: () => this.#use(branch.id) } }, el('span', { text: name }));
      node.style.setProperty('--at', `${at * 100}%`);
      return node;
    }));
    // The one in use stays in sight; the lanes have a height of their own.
    const here = /** @type {HTMLElement|null} */ (this.branches.querySelector('[aria-current]'));
    if (here) this.branches.scrollTop = here.offsetTop - (this.branches.clientHeight - here.offsetHeight) / 2;
    return undefined;
  }

  /** @param {number} id */
  #use(id) {
    const { session } = this;
    const run = session?.run;
    if (!session || !run) return;
    const before = session.actions.branch;
    session.actions.useBranch(id);
    const seq = run.raw.divergence(before, id);
    if (seq !== null && seq !== undefined) session.notice(t('time.differs', { seq: count(seq) }));
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    const { session } = this;
    if (!session?.run || event.button !== 0) return;
    session.clock.pause();
    this.track.setPointerCapture(event.pointerId);
    const to = (/** @type {PointerEvent} */ e) => {
      const { left, width } = this.track.getBoundingClientRect();
      const run = session.run;
      if (run) session.clock.seek(run.origin + Math.min(1, Math.max(0, (e.clientX - left) / width)) * (session.clock.end - run.origin));
    };
    to(event);
    this.track.onpointermove = to;
    this.track.onpointerup = this.track.onpointercancel = () => {
      this.track.onpointermove = null;
      session.say();
    };
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const run = this.session?.run;
    if (!run || !this.session || event.ctrlKey || event.metaKey || event.altKey) return;
    const length = this.session.clock.end - run.origin;
    const to = {
      Home: run.origin, End: this.session.clock.end,
      PageUp: run.now - length * PAGE, PageDown: run.now + length * PAGE,
      ArrowDown: run.now - length / 100, ArrowUp: run.now + length / 100,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.session.clock.pause();
    this.session.clock.seek(to);
    this.session.say();
  }
}

customElements.define('time-track', TimeTrack);

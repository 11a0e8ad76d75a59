/** `<time-track>`: the density of events over time, a slider over it, pins and branches below. */
import { el, icon, setAttr } from '../dom.js';
import { clock, count } from '../format.js';
import { known, t } from '../strings.js';

/** @import { Session } from '../session.js' */

/** Pins nearer than this many pixels share one sign. */
const PIN_APART = 26;
/** What PgUp and PgDn move, as a part of the whole. */
const PAGE = 0.1;

export class TimeTrack extends HTMLElement {
  #pinShape = '';
  #branchShape = '';
  #drawn = '';

  /** @param {Session} session */
  connect(session) {
    this.session = session;
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { 'aria-hidden': 'true' }));
    this.knob = el('span', { class: 'knob', 'aria-hidden': 'true' });
    this.track = el('div', { class: 'track', role: 'slider', tabindex: '0', 'aria-label': t('time.track'), 'aria-valuemin': '0' }, this.canvas, this.knob);
    this.pins = el('div', { class: 'pins' });
    this.branches = el('div', { class: 'branches', role: 'group', 'aria-label': t('time.branches') });
    this.replaceChildren(this.track, this.pins, this.branches);
    this.track.addEventListener('pointerdown', (/** @type {PointerEvent} */ e) => this.#drag(e));
    this.track.addEventListener('keydown', (/** @type {KeyboardEvent} */ e) => this.#key(e));
    for (const type of ['frame', 'run', 'faults', 'known']) session.addEventListener(type, () => this.update());
    new ResizeObserver(() => this.update()).observe(this);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
  }

  redraw() {
    this.#drawn = '';
    this.update();
  }

  update() {
    const run = this.session?.run;
    if (!this.session || !run || !this.track) return;
    const length = Math.max(1, this.session.end - run.origin);
    const now = run.now - run.origin;
    this.knob.style.setProperty('--at', `${(now / length) * 100}%`);
    setAttr(this.track, 'aria-valuemax', String(Math.round(length / 1e6)));
    setAttr(this.track, 'aria-valuenow', String(Math.round(now / 1e6)));
    setAttr(this.track, 'aria-valuetext', t('time.at', { now: clock(now), end: clock(length), i: run.index }));
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
    const shape = `${width}|${run.count}|${length}|${this.session?.branch}|${document.documentElement.dataset.theme}`;
    if (shape === this.#drawn || width === 0) return;
    this.#drawn = shape;
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
    const most = Math.log1p(Math.max(1, ...bins));
    ctx.fillStyle = style.outlineColor;
    ctx.fillRect(0, height - 1, width, 1);
    ctx.fillStyle = style.color;
    bins.forEach((n, i) => {
      if (n === 0) return;
      const tall = Math.max(2, (Math.log1p(n) / most) * (height - 6));
      ctx.fillRect((i / bins.length) * width, height - tall, width / bins.length - 1, tall);
    });
  }

  /** @param {number} length */
  #pin(length) {
    const run = this.session?.run;
    if (!run) return;
    const width = this.pins.clientWidth || 1;
    const pins = run.pins();
    const shape = `${width}|${length}|${pins.map((p) => p.seq).join()}`;
    if (shape === this.#pinShape) return;
    this.#pinShape = shape;
    let last = -Infinity;
    /** @type {HTMLElement[]} */
    const nodes = [];
    for (const pin of pins) {
      const at = (pin.at - run.origin) / length;
      if (at * width - last < PIN_APART) continue;
      last = at * width;
      const text = known(pin.key) ? t(pin.key, pin.args) : pin.key;
      const label = t(`time.pin.${pin.kind}`, { at: clock(pin.at - run.origin), text });
      const node = el('button', { class: 'pin', type: 'button', title: label, 'aria-label': label, data: { kind: pin.kind }, on: { click: () => this.session?.seekEvent(pin.seq) } },
        icon(pin.kind === 'fault' ? 'flag' : 'alert'));
      node.style.setProperty('--at', `${at * 100}%`);
      nodes.push(node);
    }
    this.pins.replaceChildren(...nodes);
  }

  /** One line a branch, from where it left its parent. @param {number} length */
  #branch(length) {
    const { session } = this;
    const run = session?.run;
    if (!session || !run) return;
    const branches = run.branches();
    const shape = `${length}|${session.branch}|${branches.map((b) => `${b.id}:${b.at}`).join()}`;
    if (shape === this.#branchShape) return;
    this.#branchShape = shape;
    if (branches.length < 2) return void this.branches.replaceChildren();
    this.branches.replaceChildren(...branches.map((branch, i) => {
      const name = i === 0 ? t('time.branch.main') : branch.name || t('time.branch.nth', { n: i });
      const at = Math.max(0, branch.parent === null ? 0 : (branch.at - run.origin) / length);
      const node = el('button', { class: 'branch', type: 'button', 'aria-current': branch.id === session.branch ? 'true' : null, title: t('time.branch', { name, at: clock(at * length) }), on: { click: () => this.#use(branch.id) } }, el('span', { text: name }));
      node.style.setProperty('--at', `${at * 100}%`);
      return node;
    }));
    return undefined;
  }

  /** @param {number} id */
  #use(id) {
    const { session } = this;
    const run = session?.run;
    if (!session || !run) return;
    const before = session.branch;
    session.useBranch(id);
    const seq = run.raw.divergence(before, id);
    if (seq !== null && seq !== undefined) session.notice(t('time.differs', { seq: count(seq) }));
  }

  /** @param {PointerEvent} event */
  #drag(event) {
    const { session } = this;
    if (!session?.run || event.button !== 0) return;
    session.pause();
    this.track.setPointerCapture(event.pointerId);
    const to = (/** @type {PointerEvent} */ e) => {
      const { left, width } = this.track.getBoundingClientRect();
      const run = session.run;
      if (run) session.seek(run.origin + Math.min(1, Math.max(0, (e.clientX - left) / width)) * (session.end - run.origin));
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
    const length = this.session.end - run.origin;
    const to = {
      Home: run.origin, End: this.session.end,
      PageUp: run.now - length * PAGE, PageDown: run.now + length * PAGE,
      ArrowDown: run.now - length / 100, ArrowUp: run.now + length / 100,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.session.pause();
    this.session.seek(to);
    this.session.say();
  }
}

customElements.define('time-track', TimeTrack);

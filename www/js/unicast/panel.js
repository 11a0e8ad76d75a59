/** The flows of one line: a row for each with what it has now, and the chart of all. */
import { announce, el, setAttr, setText, svg } from '#lab/dom.js';
import { isHidden } from '#lab/session/future.js';
import { t } from '#lab/strings.js';
import { density } from '#lab/theme.js';
import { Chart, room } from '#lab/unicast/chart.js';
import { FLOWS } from '#lab/unicast/look.js';

/** @import { Room } from './chart.js' */
/** @import { Lane } from './lane.js' */
/** @import { Palette } from './look.js' */
/** @import { Session } from '../session/session.js' */

/** While it plays the figures are written this often, in milliseconds. */
const READ_MS = 150;

/** Controllers that have the same name in every language. @type {Record<string, string>} */
const CONTROLS = { bbr: 'BBR', cubic: 'CUBIC' };

/** A figure and its unit stay on one line: it breaks behind a dot. @param {string} text */
const unbroken = (text) => text.replaceAll(/(?<!·) (?!·)/g, '\u00a0').replaceAll(' ·', '\u00a0·');

export class FlowPanel {
  chart = new Chart();
  /** @type {Room|null} */ #room = null;
  /** @type {Lane|null} */ #lane = null;
  #shape = '';
  #due = 0;

  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { 'aria-hidden': 'true' }));
    this.picture = el('div', { class: 'flows-room', on: { pointerdown: this.#drag, pointermove: this.#drag } }, this.canvas);
    this.rows = el('ul', { class: 'flows-rows' });
    this.wait = el('p', { class: 'flows-wait' });
    this.node = el('section', { class: 'flows', hidden: true, 'aria-label': t('flows.label') }, this.rows, this.picture, this.wait);
    for (const type of ['play', 'run', 'faults']) session.addEventListener(type, () => { this.#due = 0; });
  }

  /** @param {Lane} lane with flows @param {Palette} colours @param {number} end of the clock */
  update(lane, colours, end) {
    this.#lane = lane;
    this.#write(lane);
    const [width, height] = [this.picture.clientWidth, this.picture.clientHeight];
    const scale = density();
    const { canvas } = this;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
      Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    }
    if (!lane.flows || width < 60 || height < 60) return;
    this.#room = room(width, height, end, colours);
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    this.chart.paint(ctx, lane.flows, { room: this.#room, now: lane.run.now, colours });
  }

  /** What each has now, as words. @param {Lane} lane */
  #write({ flows, run }) {
    const { session } = this;
    if (!flows || (session.clock.playing && performance.now() < this.#due)) return;
    this.#due = performance.now() + READ_MS;
    const shape = flows.all.map(({ name, control }) => `${name}|${control}`).join();
    if (shape !== this.#shape) {
      this.#shape = shape;
      this.rows.replaceChildren(...flows.all.map((flow, i) => this.#row(flow.name, flow.control, i)));
    }
    const shares = flows.shares(run.now);
    flows.all.forEach((flow, i) => {
      const row = this.rows.children[i];
      const { rate, part } = shares[i];
      setText(row.querySelector('.flow-has'), unbroken(t('flows.has', { rate, part: Math.round(100 * part) })));
      row.style.setProperty('--part', part.toFixed(3));
      const allowed = flow.allowed(run.now);
      setText(row.querySelector('.flow-may'), allowed ? t('flows.may', { rate: allowed.rate, window: allowed.window }) : t('flows.none'));
      setAttr(row.querySelector('button'), 'aria-disabled', flows.asked(flow, run.now, isHidden()) ? null : 'true');
    });
    const { asked } = this;
    setText(this.wait, asked?.run === run && asked.at === run.now ? asked.words : t('flows.wait', { wait: flows.waiting(run.now), depth: flows.depth }));
  }

  /** @param {string} name @param {string} control @param {number} i */
  #row(name, control, i) {
    const { colour, dash } = FLOWS[i % FLOWS.length];
    return el('li', { data: { flow: i % FLOWS.length + 1 } },
      el('span', { class: 'flow-name' }, svg('svg', { viewBox: '0 0 30 12', class: 'flow-sample', 'aria-hidden': 'true' }, svg('line', { x1: 1, y1: 6, x2: 29, y2: 6, stroke: `var(--${colour})`, 'stroke-width': 3, 'stroke-dasharray': dash.join(' ') || 'none' })),
        el('b', { text: name }), ' ', el('span', { text: CONTROLS[control] ?? t(`flows.control.${control}`) })),
      el('span', { class: 'flow-bar', 'aria-hidden': 'true' }, el('i', {})),
      el('span', { class: 'flow-has' }), el('span', { class: 'flow-may' }),
      el('button', { class: 'button small', type: 'button', text: t('flows.why'), title: t('flows.why.long', { name }), 'aria-label': t('flows.why.long', { name }), on: { click: () => this.#ask(i) } }));
  }

  /** The answer to what was asked last; it stands there until the clock moves. @type {{run: import('./run.js').UnicastRun, at: number, words: string}|null} */
  asked = null;

  /** Goes to where a sender became slower: the event and its numbers say why. @param {number} i */
  #ask(i) {
    const { session } = this;
    const lane = this.#lane;
    const flow = lane?.flows?.all[i];
    if (!lane?.flows || !flow) return;
    const { run } = lane;
    const slower = lane.flows.asked(flow, run.now, isHidden());
    if (!slower) {
      session.notice(t('flows.why.none', { name: flow.name }));
      return;
    }
    const numbers = run.numbers(slower.seq);
    this.asked = numbers ? { run, at: slower.at, words: t('flows.because', { name: flow.name, words: t(`numbers.${numbers.key}`, numbers) }) } : null;
    session.select({ node: null, ticket: null, name: '' });
    if (run === session.run) session.clock.seekEvent(slower.seq);
    else session.clock.seek(slower.at);
    if (this.asked) announce(this.asked.words);
  }

  /** The chart is a scale of time that can be held. */
  #drag = (/** @type {PointerEvent} */ event) => {
    const where = this.#room;
    if (!where || event.button > 0 || (event.type === 'pointermove' && !event.buttons)) return;
    const { left } = this.picture.getBoundingClientRect();
    const part = (event.clientX - left - where.left) / (where.right - where.left);
    if (event.type === 'pointerdown') {
      if (part < 0) return;
      this.picture.setPointerCapture(event.pointerId);
    }
    this.session.clock.pause();
    this.session.clock.seek(Math.round(Math.min(1, Math.max(0, part)) * where.end));
  };
}

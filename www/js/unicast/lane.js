/** One unicast on the canvas: lifelines, arrows, brackets, ticks, margins. */
import { told } from '#lab/session/future.js';
import { firstFrom } from '#lab/ladder/axis.js';
import { ArrowWords, bottomOf, clipFuture, cross, dot, glow, head, nearest, pill, progress, stretch } from '#lab/ladder/draw.js';
import { Conditions, paces, queue } from '#lab/unicast/conditions.js';
import { Flows } from '#lab/unicast/flows.js';
import { colourOf, STROKES } from '#lab/unicast/look.js';
import { Margins, bitmap, stairs } from '#lab/unicast/margin.js';
import { kindOf, label } from '#lab/unicast/words.js';

/** @import * as T from './types' */
/** @import { Axis } from '../ladder/axis.js' */
/** @import { Line } from '../ladder/draw.js' */
/** @import { Palette } from './look.js' */
/** @import { UnicastRun } from './run.js' */

/** Where on an arrow a word may stand. */
const STANDS = [0.2, 0.42, 0.64, 0.84];
/** More words at once would be a grey wall. */
const WORDS = 150;
/** How strongly what is not looked for is drawn. */
const PALE = 0.12;
/** How an estimated half is drawn. */
const DOTS = [2, 5];
/** A lost one is drawn so far. */
const LOST_AT = 0.56;
/** Where a lane is narrower it has no stairs, and where it is narrower still no bitmap. */
const ROOMY = 430;
const SLIM = 330;

/** @typedef {{top: number, height: number, axis: Axis, now: number, colours: Palette, selected: number|null, pointed: number|null, still: boolean, found: import('../session/sought.js').Find|null}} Look */

export class Lane {
  #edition = -1;
  /** The longest flight, to know which arrows reach into sight. */
  #longest = 0;
  /** @type {number[]} */ #sent = [];
  /** @type {Map<number, {kind: import('./words.js').Kind, text: string}>} */ #words = new Map();
  /** @type {Margins|null} */ margins = null;
  /** @type {Conditions|null} */ conditions = null;
  /** @type {Flows|null} */ flows = null;

  /** @param {UnicastRun} run */
  constructor(run) { this.run = run; }

  /** Takes up what the run has learnt. */
  refresh() {
    const { run } = this;
    if (run.edition === this.#edition) return;
    this.#edition = run.edition;
    this.#sent = run.arrows.map((a) => a.sent);
    this.#longest = run.arrows.reduce((most, a) => Math.max(most, Math.max(a.due, a.at ?? 0) - a.sent), 0);
    this.#words.clear();
    const [sender, receiver] = this.ends();
    this.margins = new Margins(run, sender, receiver);
    this.conditions = new Conditions(run, receiver);
    this.flows = new Flows(run, this.conditions);
    this.#at = run.marks.map((m) => m.at);
    // What the task did stands at the same instant; a run that did nothing is hollow.
    this.#acted = new Set(run.marks.filter((m) => m.kind === 'resent' || m.kind === 'requested').map((m) => `${m.node}/${m.at}`));
    this.#downs = new Map(run.nodes.map((node) => [node.id, downs(run.marks, node.id)]));
  }
  /** When the marks are, in their order. @type {number[]} */ #at = [];
  /** @type {Set<string>} */ #acted = new Set();
  /** @type {Map<number, [number, number][]>} */ #downs = new Map();

  /**
   * Whose margins are shown: the first that sends, and the last that receives. What one end
   * recorded names places and doors too: there it is the peer of most messages.
   * @returns {[number, number]}
   */
  ends() {
    const all = /** @type {T.NodeInfo[]} */ (/** @type {unknown} */ (this.run.nodes));
    const busiest = this.run.busiest;
    const nodes = busiest === null ? all : all.filter((n) => n.id === busiest || this.run.recorded?.has(n.id));
    const first = nodes.find((n) => n.role !== 'receiver') ?? nodes[0];
    const last = nodes.findLast((n) => n.role !== 'sender' && n !== first) ?? nodes[nodes.length - 1];
    return [first.id, last.id];
  }

  /** Shares out the width. @param {number} x @param {number} width */
  lay(x, width) {
    const left = width >= ROOMY ? Math.min(150, Math.max(56, width * 0.13)) : 22;
    const right = width >= SLIM ? Math.min(190, Math.max(64, width * 0.17)) : 22;
    const gap = width >= ROOMY ? 26 : 20;
    const count = Math.max(2, this.run.nodes.length);
    const [a, b] = [x + left + gap, x + width - right - gap];
    this.x = x;
    this.width = width;
    this.left = { x: x + 6, width: width >= ROOMY ? left - 6 : 0 };
    this.right = { x: b + gap, width: width >= SLIM ? right - 6 : 0 };
    const [first, last] = this.ends();
    const between = this.run.nodes.map((n) => n.id).filter((id) => id !== first && id !== last);
    const order = this.run.busiest === null ? this.run.nodes.map((n) => n.id) : [first, ...between, last];
    this.lines = new Map(order.map((id, i) => [id, a + ((b - a) * i) / (count - 1)]));
  }
  x = 0;
  width = 0;
  left = { x: 0, width: 0 };
  right = { x: 0, width: 0 };
  /** @type {Map<number, number>} */ lines = new Map();

  /** @param {T.Arrow} arrow @param {Axis} axis @returns {Line} */
  line(arrow, axis) {
    const end = arrow.fate === 'arrived' && arrow.at !== null ? arrow.at : arrow.due;
    return { x0: this.lines.get(arrow.from) ?? 0, y0: axis.of(arrow.sent), x1: this.lines.get(arrow.to) ?? 0, y1: axis.of(end) };
  }

  /** Arrows that can be seen between two heights. @param {Look} look @returns {T.Arrow[]} */
  sight({ axis, top, height }) {
    const { axis: before, top: at, height: tall, edition } = this.#seen;
    if (before === axis && at === top && tall === height && edition === this.#edition) return this.#seen.list;
    const [from, to] = [axis.to(top - 20), axis.to(top + height + 20)];
    const begin = firstFrom(this.#sent, from - this.#longest);
    const end = firstFrom(this.#sent, to + 1);
    const list = this.run.arrows.slice(begin, end).filter((a) => Math.max(a.due, a.at ?? 0) >= from);
    this.#seen = { axis, top, height, edition: this.#edition, list };
    return list;
  }
  /** What was in sight last, and from where. */
  #seen = { axis: /** @type {Axis|null} */ (null), top: 0, height: 0, edition: -1, list: /** @type {T.Arrow[]} */ ([]) };

  /** The arrow nearest to a point. @param {number} x @param {number} y from the top of the whole picture @param {Look} look */
  near(x, y, look) {
    const seen = this.sight(look).filter((arrow) => told(arrow.sent, look.now));
    return nearest(seen, (arrow) => this.line(arrow, look.axis), x, y);
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Look} look whose canvas begins at the top of what is in sight */
  paint(ctx, look) {
    const { axis, top, height, now, colours } = look;
    const [from, to] = [axis.to(top - 20), axis.to(top + height + 20)];
    ctx.save();
    clipFuture(ctx, look, this);
    const sides = { axis, from, to, until: now, colours };
    const controlled = this.conditions?.any ? this.conditions : null;
    if (controlled && this.left.width > 0) paces(ctx, controlled, { ...this.left, ...sides });
    else if (this.margins && this.left.width > 0) stairs(ctx, this.margins, { ...this.left, ...sides });
    if (controlled && this.right.width > 0) queue(ctx, controlled, { ...this.right, ...sides });
    else if (this.margins && this.right.width > 0) bitmap(ctx, this.margins, { ...this.right, ...sides });
    this.#lifelines(ctx, look, from, to);
    const seen = this.sight(look);
    for (const arrow of seen) this.#bracket(ctx, arrow, look);
    // What matters most is drawn last.
    const order = { probe: 0, ack: 1, data: 2, close: 3, want: 4, again: 5 };
    const sorted = seen.map((arrow) => ({ arrow, ...this.#word(arrow) })).sort((a, b) => order[a.kind] - order[b.kind]);
    for (const { arrow, kind } of sorted) this.#arrow(ctx, arrow, kind, look);
    this.#labels(ctx, sorted.reverse(), look);
    this.#marks(ctx, look, from, to);
    ctx.restore();
    this.#between(ctx, look);
  }

  /** The names of lines that no head names: those between the two ends; of several senders of a world all. @param {CanvasRenderingContext2D} ctx @param {Look} look */
  #between(ctx, { top, colours }) {
    if (this.lines.size < 3) return;
    const ends = this.run.busiest === null ? /** @type {number[]} */ ([]) : this.ends();
    const { size, font } = colours;
    const room = (this.width - this.left.width - this.right.width) / this.lines.size;
    ctx.save();
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'center';
    ctx.font = `700 ${size}px ${font}`;
    for (const [id, x] of this.lines) {
      if (ends.includes(id)) continue;
      const name = this.run.node(id)?.name ?? '';
      const half = Math.min(room, ctx.measureText(name).width + 10) / 2;
      ctx.fillStyle = colours.paper;
      pill(ctx, x, top + size, half, size);
      ctx.fillStyle = colours['ink-soft'];
      ctx.fillText(name, x, top + size + 0.5, 2 * half - 8);
    }
    ctx.restore();
  }

  /** @param {T.Arrow} arrow */
  #word(arrow) {
    let word = this.#words.get(arrow.id);
    if (!word) this.#words.set(arrow.id, word = { kind: kindOf(arrow), text: label(arrow) });
    return word;
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Look} look @param {number} from @param {number} to */
  #lifelines(ctx, { axis, colours, now }, from, to) {
    const half = axis.of(Math.min(Math.max(now, from), to));
    for (const [node, x] of this.lines) {
      ctx.setLineDash([]);
      ctx.lineWidth = 2;
      ctx.strokeStyle = colours['line-strong'];
      ctx.beginPath();
      ctx.moveTo(x, axis.of(from));
      ctx.lineTo(x, half);
      ctx.stroke();
      ctx.globalAlpha = 0.45;
      ctx.beginPath();
      ctx.moveTo(x, half);
      ctx.lineTo(x, axis.of(to));
      ctx.stroke();
      ctx.globalAlpha = 1;
      // While a node is down its line is a gap.
      for (const [a, b] of this.#downs.get(node) ?? []) {
        if (a > to || b < from) continue;
        const [y0, y1] = [axis.of(a), axis.of(Math.min(b, to))];
        ctx.fillStyle = colours.paper;
        ctx.fillRect(x - 3, y0, 6, y1 - y0);
        ctx.strokeStyle = colours.lost;
        ctx.setLineDash([2, 5]);
        ctx.beginPath();
        ctx.moveTo(x, y0);
        ctx.lineTo(x, y1);
        ctx.stroke();
      }
    }
    ctx.setLineDash([]);
  }

  /** What an acknowledgement covers for the first time. @param {CanvasRenderingContext2D} ctx @param {T.Arrow} arrow @param {Look} look */
  #bracket(ctx, arrow, { axis, now, colours }) {
    const cover = this.run.covers.get(arrow.id);
    if (!cover) return;
    const line = this.lines.get(arrow.from) ?? 0;
    const out = line > this.x + this.width / 2 ? 1 : -1;
    const [y0, y1] = [axis.of(cover.from), axis.of(arrow.sent)];
    ctx.globalAlpha = arrow.sent > now ? 0.3 : 0.9;
    ctx.strokeStyle = colours.ack;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.moveTo(line + out * 4, y0);
    ctx.lineTo(line + out * 9, y0);
    ctx.lineTo(line + out * 9, y1);
    ctx.lineTo(line + out * 4, y1);
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} ctx @param {T.Arrow} arrow @param {import('./words.js').Kind} kind @param {Look} look */
  #arrow(ctx, arrow, kind, { axis, now, colours, selected, pointed, still, found }) {
    const dim = pale(arrow, found) ? PALE : 1;
    const line = this.line(arrow, axis);
    const { x0, y0, x1, y1 } = line;
    const stroke = STROKES[kind];
    const lost = arrow.fate === 'lost';
    const reach = lost ? LOST_AT : 1;
    // How far it has come by now.
    const come = progress(arrow, line, { axis, now });
    const under = come > 0 && come < reach;
    const to = still && under ? reach : Math.min(come, reach);
    const at = (/** @type {number} */ p) => /** @type {[number, number]} */ ([x0 + (x1 - x0) * p, y0 + (y1 - y0) * p]);
    if (arrow.id === selected || arrow.id === pointed) glow(ctx, colours.accent, arrow.id === selected, at(0), at(1));
    ctx.strokeStyle = ctx.fillStyle = colourOf(colours, kind);
    ctx.lineWidth = stroke.width;
    ctx.setLineDash(stroke.dash);
    if (to < reach || come === 0) {
      ctx.globalAlpha = 0.26 * dim;
      stretch(ctx, at(to), at(reach));
      if (!lost) head(ctx, ...at(1), Math.atan2(y1 - y0, x1 - x0), stroke.head);
    }
    ctx.globalAlpha = dim;
    if (to > 0) {
      this.#length(ctx, at, to, this.run.guessed(arrow), stroke.dash);
      if (!lost && to === 1) head(ctx, ...at(1), Math.atan2(y1 - y0, x1 - x0), stroke.head);
      if (under && !still) dot(ctx, at(to));
    }
    if (lost) this.#lost(ctx, at(reach), at(1), come >= reach, colours, dim);
    ctx.globalAlpha = 1;
    ctx.setLineDash([]);
  }

  /** What it has come by now. The half at an end that was not recorded is dotted. @param {CanvasRenderingContext2D} ctx @param {(part: number) => [number, number]} at @param {number} to @param {'start'|'end'|null} guessed @param {number[]} dash */
  #length(ctx, at, to, guessed, dash) {
    const middle = guessed ? Math.min(to, 0.5) : to;
    ctx.setLineDash(guessed === 'start' ? DOTS : dash);
    stretch(ctx, at(0), at(middle));
    ctx.setLineDash(guessed === 'end' ? DOTS : dash);
    if (to > middle) stretch(ctx, at(middle), at(to));
  }

  /** @param {CanvasRenderingContext2D} ctx @param {[number, number]} here @param {[number, number]} there @param {boolean} past @param {Palette} colours @param {number} dim */
  #lost(ctx, here, there, past, colours, dim) {
    ctx.globalAlpha = dim * (past ? 0.5 : 0.15);
    ctx.setLineDash([1, 6]);
    ctx.lineWidth = 1.25;
    stretch(ctx, here, there);
    ctx.setLineDash([]);
    ctx.globalAlpha = dim * (past ? 1 : 0.3);
    ctx.lineWidth = 5;
    ctx.strokeStyle = colours.paper;
    cross(ctx, ...here, 6);
    ctx.lineWidth = 2.5;
    ctx.strokeStyle = colours.lost;
    cross(ctx, ...here, 6);
    ctx.globalAlpha = 1;
  }

  /** Words on the arrows, as many as find room. @param {CanvasRenderingContext2D} ctx @param {{arrow: T.Arrow, kind: import('./words.js').Kind, text: string}[]} list the weightiest first @param {Look} look */
  #labels(ctx, list, { axis, now, colours, selected, pointed, found }) {
    const { size, font } = colours;
    const room = new ArrowWords({ stands: STANDS, most: WORDS, size, left: this.x, right: this.x + this.width, bottom: bottomOf({ axis, now }) });
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'center';
    // Whatever is selected or pointed at has its word in any case.
    const meant = (/** @type {{arrow: T.Arrow}} */ { arrow }) => arrow.id === selected || arrow.id === pointed;
    for (const { arrow, kind, text } of [...list.filter(meant), ...list.filter((one) => !meant(one))]) {
      if (room.full) break;
      if (pale(arrow, found)) continue;
      const bold = kind === 'again' || kind === 'want' || arrow.id === selected;
      ctx.font = `${bold ? 700 : 550} ${size}px ${font}`;
      const words = `${arrow.copy_of === null ? '' : '⧉ '}${kind === 'again' ? '↻ ' : ''}${text}${arrow.why === 'delay' ? ' …' : ''}`;
      const wide = ctx.measureText(words).width / 2 + 5;
      const stand = room.take(this.line(arrow, axis), wide);
      if (!stand) continue;
      const [x, y] = stand;
      ctx.globalAlpha = arrow.sent > now ? 0.6 : 1;
      ctx.fillStyle = colours.paper;
      pill(ctx, x, y, wide, size);
      if (kind === 'again' || kind === 'want') {
        ctx.lineWidth = 1;
        ctx.strokeStyle = colourOf(colours, kind);
        ctx.stroke();
      }
      ctx.fillStyle = arrow.fate === 'lost' ? colours.lost : colourOf(colours, kind);
      ctx.fillText(words, x, y + 0.5);
    }
    ctx.globalAlpha = 1;
  }

  /** Runs of the task, endings and beginnings on the lifelines. @param {CanvasRenderingContext2D} ctx @param {Look} look @param {number} from @param {number} to */
  #marks(ctx, { axis, now, colours }, from, to) {
    const { marks } = this.run;
    let last = -Infinity;
    for (const { at, node, kind } of marks.slice(firstFrom(this.#at, from), firstFrom(this.#at, to + 1))) {
      const x = this.lines.get(node) ?? 0;
      const y = axis.of(at);
      ctx.globalAlpha = at > now ? 0.35 : 1;
      if (kind === 'task') {
        const action = this.#acted.has(`${node}/${at}`);
        if (!action && y - last < 3) continue;
        last = y;
        ctx.lineWidth = 1.75;
        ctx.strokeStyle = action ? colours.again : colours['ink-soft'];
        ctx.fillStyle = action ? colours.again : colours.paper;
        ctx.beginPath();
        ctx.arc(x, y, action ? 4.5 : 3.5, 0, 7);
        ctx.fill();
        ctx.stroke();
      } else if (kind === 'crashed' || kind === 'unreachable') {
        ctx.lineWidth = 3;
        ctx.strokeStyle = colours.lost;
        cross(ctx, x, y, 6);
      } else if (kind === 'rejected') {
        // It came, and was not taken in.
        ctx.lineWidth = 1.75;
        ctx.strokeStyle = colours.lost;
        ctx.fillStyle = colours.paper;
        ctx.beginPath();
        ctx.arc(x, y, 4, 0, 7);
        ctx.fill();
        ctx.moveTo(x - 2.8, y + 2.8);
        ctx.lineTo(x + 2.8, y - 2.8);
        ctx.stroke();
      } else if (kind === 'opened' || kind === 'closed' || kind === 'restarted') {
        ctx.lineWidth = 2;
        ctx.strokeStyle = colours.ink;
        ctx.fillStyle = kind === 'closed' ? colours.ink : colours.paper;
        ctx.beginPath();
        ctx.rect(x - 4, y - 4, 8, 8);
        ctx.fill();
        ctx.stroke();
      }
    }
    ctx.globalAlpha = 1;
  }
}

/** True for what is not looked for. @param {T.Arrow} arrow @param {import('../session/sought.js').Find|null} found */
export const pale = ({ id, seq, from, to, sent, at }, found) => found !== null && !found.ids.has(id) && !found.seqs.has(seq) && !found.moments.has(`${from}/${sent}`) && !found.moments.has(`${to}/${at}`);

/** When a node was down. @param {T.LifelineMark[]} marks @param {number} node @returns {[number, number][]} */
function downs(marks, node) {
  /** @type {[number, number][]} */
  const list = [];
  for (const { at, kind } of marks.filter((m) => m.node === node)) {
    if (kind === 'crashed') list.push([at, Infinity]);
    else if (kind === 'restarted' && list.length) list[list.length - 1][1] = at;
  }
  return list;
}

/** The picture: a line for each node, an arrow for each datagram, and where routers stop them. */
import { told } from '#lab/session/future.js';
import { t } from '#lab/strings.js';
import { firstFrom } from '#lab/ladder/axis.js';
import { foldWords } from '#lab/ladder/backdrop.js';
import { ArrowWords, bottomOf, clipFuture, cross, dot, glow, head, nearest, pill, progress, stretch } from '#lab/ladder/draw.js';
import { STROKES } from '#lab/meet/look.js';
import { kindOf, label, port } from '#lab/meet/words.js';

/** @import * as T from './types' */
/** @import { Axis } from '../ladder/axis.js' */
/** @import { Palette } from './look.js' */
/** @import { Kind } from './words.js' */
/** @import { MeetRun } from './run.js' */

/** Where on an arrow a word may stand. */
const STANDS = [0.3, 0.55, 0.78, 0.42, 0.66];
/** More words at once would be a grey wall. */
const WORDS = 90;
/** How strongly what is not looked for is drawn. */
const PALE = 0.12;
/** What weighs most is drawn last. */
const ORDER = /** @type {Record<Kind, number>} */ ({ place: 0, relay: 1, data: 2, knock: 3, answer: 4, choose: 5 });

/** What happens to a router's table; anything else happens to people. */
const TABLE = ['mapped', 'expired', 'evicted'];
/** Half of the width of a mark's sign. */
const SIGN = 7;

/** A mark, and where its words begin; without words where there is no room. @typedef {{mark: T.MeetMark, table: boolean, x: number, y: number, text: string, tx: number, wide: number}} Placed */
/** @typedef {{top: number, height: number, axis: Axis, now: number, colours: Palette, selected: number|null, pointed: number|null, still: boolean, found: import('../session/sought.js').Find|null}} Look */

export class Lane {
  #edition = -1;
  /** The longest way, to know which arrows reach into sight. */
  #longest = 0;
  /** @type {number[]} */ #sent = [];
  /** @type {Map<number, number>} */ lines = new Map();
  left = 0;
  width = 0;

  /** @param {MeetRun} run */
  constructor(run) {
    this.run = run;
    this.place = run.nodes.find((n) => n.role === 'place')?.id ?? -1;
    this.roles = new Map(run.nodes.map((n) => [n.id, n.role]));
  }

  /** Takes up what the run has learnt. */
  refresh() {
    const { run } = this;
    if (run.edition === this.#edition) return;
    this.#edition = run.edition;
    this.#sent = run.arrows.map((a) => a.sent);
    this.#longest = run.arrows.reduce((most, a) => Math.max(most, (a.at ?? a.due) - a.sent), 0);
    this.bands = bands(run);
  }
  /** @type {{node: number, from: number, to: number, path: 'direct'|'relay'|'none'}[]} */ bands = [];

  /** Shares out the width beside the clock. @param {number} x @param {number} width */
  lay(x, width) {
    this.left = x;
    this.width = x + width;
    const order = this.run.order();
    const each = width / order.length;
    this.lines = new Map(order.map((node, i) => [node, x + each * (i + 0.5)]));
  }

  /** @param {T.MeetArrow} arrow @param {Axis} axis */
  line({ from, to, sent, at, due }, axis) {
    const x0 = this.lines.get(from) ?? 0;
    return { x0, y0: axis.of(sent), x1: (to === null ? undefined : this.lines.get(to)) ?? (x0 + (this.lines.get(this.place) ?? x0)) / 2, y1: axis.of(at ?? due) };
  }

  /** Arrows that can be seen between two heights. @param {Look} look @returns {T.MeetArrow[]} */
  sight({ axis, top, height }) {
    const [from, to] = [axis.to(top - 20), axis.to(top + height + 20)];
    const [begin, end] = [firstFrom(this.#sent, from - this.#longest), firstFrom(this.#sent, to + 1)];
    return this.run.arrows.slice(begin, end).filter((a) => (a.at ?? a.due) >= from);
  }

  /** The arrow nearest to a point. @param {number} x @param {number} y from the top of the whole picture @param {Look} look */
  near(x, y, look) {
    const seen = this.sight(look).filter((arrow) => told(arrow.sent, look.now));
    return nearest(seen, (arrow) => this.line(arrow, look.axis), x, y);
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Look} look whose canvas begins at the top of what is in sight */
  paint(ctx, look) {
    const { axis, top, height } = look;
    const [from, to] = [axis.to(top - 20), axis.to(top + height + 20)];
    ctx.save();
    clipFuture(ctx, look, { x: 0, width: this.width });
    this.#lifelines(ctx, look, from, to);
    const seen = this.sight(look).map((arrow) => ({ arrow, kind: kindOf(arrow, this.place) })).sort((a, b) => ORDER[a.kind] - ORDER[b.kind]);
    for (const { arrow, kind } of seen) this.#arrow(ctx, arrow, kind, look);
    const words = new ArrowWords({ stands: STANDS, most: WORDS, size: look.colours.size, left: 0, right: this.width, bottom: bottomOf(look) });
    const marks = this.#placed(ctx, words, look, from, to);
    this.#labels(ctx, words, seen.reverse(), look);
    ctx.restore();
    // What happens at this very moment is whole, though half of it reaches below the present.
    for (const mark of marks) this.#mark(ctx, mark, look);
    ctx.globalAlpha = 1;
  }

  /** A router's line is a wall, a person's has the colour of its path. @param {CanvasRenderingContext2D} ctx @param {Look} look @param {number} from @param {number} to */
  #lifelines(ctx, { axis, colours, now }, from, to) {
    const [y0, y1] = [axis.of(from), axis.of(to)];
    const half = axis.of(Math.min(Math.max(now, from), to));
    for (const [node, x] of this.lines) {
      const router = this.roles.get(node) === 'router';
      for (const [a, b, alpha] of [[y0, half, 1], [half, y1, 0.4]]) {
        ctx.globalAlpha = alpha;
        if (router) {
          ctx.fillStyle = colours.line;
          ctx.fillRect(x - 4, a, 8, b - a);
          ctx.fillStyle = colours['line-strong'];
          ctx.fillRect(x - 4, a, 1.5, b - a);
          ctx.fillRect(x + 2.5, a, 1.5, b - a);
        } else {
          ctx.fillStyle = colours['line-strong'];
          ctx.fillRect(x - 1, a, 2, b - a);
        }
      }
    }
    ctx.globalAlpha = 1;
    for (const { node, from: begin, to: end, path } of this.bands) {
      if (begin > to || end < from || begin > now) continue;
      const x = this.lines.get(node) ?? 0;
      const [a, b] = [axis.of(begin), Math.min(y1, axis.of(Math.min(end, now)))];
      ctx.fillStyle = colours[path];
      if (path === 'relay') for (let y = a; y < b; y += 12) ctx.fillRect(x - 3, y, 6, Math.min(8, b - y));
      else ctx.fillRect(x - (path === 'none' ? 1 : 3), a, path === 'none' ? 2 : 6, b - a);
    }
  }

  /** @param {CanvasRenderingContext2D} ctx @param {T.MeetArrow} arrow @param {Kind} kind @param {Look} look */
  #arrow(ctx, arrow, kind, { axis, now, colours, selected, pointed, still, found }) {
    const dim = found && !found.ids.has(arrow.id) && !found.seqs.has(arrow.seq) ? PALE : 1;
    const line = this.line(arrow, axis);
    const { x0, y0, x1, y1 } = line;
    const stroke = STROKES[kind];
    const stopped = arrow.fate === 'dropped' || arrow.fate === 'lost' || arrow.to === null;
    const reach = arrow.fate === 'lost' || arrow.to === null ? 0.5 : 1;
    // How far it has come by now.
    const come = progress(arrow, line, { axis, now });
    const to = still && come > 0 && come < reach ? reach : Math.min(come, reach);
    const angle = Math.atan2(y1 - y0, x1 - x0);
    const back = (/** @type {number} */ p) => (p < 1 ? 0 : this.roles.get(arrow.to ?? -1) === 'router' ? 5 : 2);
    const at = (/** @type {number} */ p) => /** @type {[number, number]} */ ([x0 + (x1 - x0) * p - Math.cos(angle) * back(p), y0 + (y1 - y0) * p - Math.sin(angle) * back(p)]);
    if (arrow.id === selected || arrow.id === pointed) glow(ctx, colours.accent, arrow.id === selected, at(0), at(1));
    ctx.strokeStyle = ctx.fillStyle = colours[kind];
    ctx.lineWidth = stroke.width;
    ctx.setLineDash(stroke.dash);
    if (to < reach || come === 0) {
      ctx.globalAlpha = 0.22 * dim;
      stretch(ctx, at(to), at(reach));
      if (!stopped) head(ctx, ...at(1), angle, stroke.head);
    }
    ctx.globalAlpha = dim;
    if (to > 0) {
      stretch(ctx, at(0), at(to));
      if (!stopped && to === 1) head(ctx, ...at(1), angle, stroke.head);
      if (come < reach && !still) dot(ctx, at(to));
    }
    ctx.setLineDash([]);
    if (stopped) {
      ctx.globalAlpha = dim * (come >= reach ? 1 : 0.3);
      for (const [ink, width] of /** @type {const} */ ([['paper', 5], ['lost', 2.5]])) {
        ctx.lineWidth = width;
        ctx.strokeStyle = colours[ink];
        cross(ctx, ...at(reach), 5);
      }
    }
    ctx.globalAlpha = 1;
  }

  /** Words on the arrows, as many as find room. @param {CanvasRenderingContext2D} ctx @param {ArrowWords} words @param {{arrow: T.MeetArrow, kind: Kind}[]} list the weightiest first @param {Look} look */
  #labels(ctx, words, list, { axis, now, colours, selected, pointed, found }) {
    const { size, font } = colours;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'center';
    // What is selected or pointed at has its word in any case, then what a router has dropped.
    const weight = (/** @type {T.MeetArrow} */ a) => (a.id === selected || a.id === pointed ? 0 : a.fate === 'dropped' ? 1 : 2);
    for (const { arrow, kind } of [...list].sort((a, b) => weight(a.arrow) - weight(b.arrow))) {
      if (words.full) break;
      if (found && !found.ids.has(arrow.id) && !found.seqs.has(arrow.seq)) continue;
      const line = this.line(arrow, axis);
      const dropped = arrow.fate === 'dropped' && told(arrow.at, now) ? `${label(arrow)} ✕ ${t(`drop.${arrow.dropped}`)}` : '';
      ctx.font = `${arrow.id === selected || dropped ? 700 : 550} ${size}px ${font}`;
      for (const text of dropped ? [dropped, `✕ ${t(`drop.${arrow.dropped}`)}`] : [label(arrow)]) {
        const wide = ctx.measureText(text).width / 2 + 5;
        if (wide * 2 > Math.abs(line.x1 - line.x0) + 40 && arrow.id !== selected) continue;
        const stand = words.take(line, wide);
        if (!stand) continue;
        const [x, y] = stand;
        ctx.globalAlpha = arrow.sent > now ? 0.6 : 1;
        ctx.fillStyle = colours.paper;
        pill(ctx, x, y, wide, size);
        ctx.fillStyle = dropped ? colours.lost : colours[kind];
        ctx.fillText(text, x, y + 0.5);
        break;
      }
    }
    ctx.globalAlpha = 1;
  }

  /**
   * What people do, and what a router's table gains and loses, with the place of its words: on the right, or else on the left, or else they are left out.
   * @param {CanvasRenderingContext2D} ctx @param {ArrowWords} words @param {Look} look @param {number} from @param {number} to
   * @returns {Placed[]}
   */
  #placed(ctx, words, { axis, colours, now }, from, to) {
    const { size, font } = colours;
    ctx.font = `550 ${size}px ${font}`;
    for (const fold of axis.folds) if (told(fold.to, now)) words.reserve((this.left + this.width) / 2, (fold.top + fold.bottom) / 2, ctx.measureText(foldWords(fold)).width / 2);
    const seen = this.run.marks.filter(({ at }) => at >= from && at <= to && told(at, now)).map((mark) => ({ mark, table: TABLE.includes(mark.kind), x: this.lines.get(mark.node) ?? 0, y: axis.of(mark.at) }));
    for (const { x, y } of seen) words.reserve(x, y, SIGN);
    ctx.font = `650 ${size}px ${font}`;
    let last = -Infinity;
    // What a person does weighs more than what a table gains.
    return seen.sort((a, b) => Number(a.table) - Number(b.table)).map(({ mark, table, x, y }) => {
      const { kind, addr } = mark;
      // Of many at one moment one has its word.
      if (table && kind === 'mapped' && y - last < size * 1.5) return { mark, table, x, y, text: '', tx: 0, wide: 0 };
      if (table) last = y;
      const text = table ? `${t(`mark.${kind}`)} ${addr ? port(addr) : ''}` : t(`mark.${kind}`);
      const wide = ctx.measureText(text).width;
      const half = wide / 2 + 3;
      const tx = [x + 11, x - 11 - wide].find((at) => at - 3 > this.left && words.free(at + wide / 2, y, half));
      if (tx !== undefined) words.reserve(tx + wide / 2, y, half);
      return { mark, table, x, y, text: tx === undefined ? '' : text, tx: tx ?? 0, wide };
    });
  }

  /** @param {CanvasRenderingContext2D} ctx @param {Placed} placed @param {Look} look */
  #mark(ctx, { mark: { at, kind }, table, x, y, text, tx, wide }, { colours, now }) {
    const { size, font } = colours;
    ctx.globalAlpha = at > now ? 0.4 : 1;
    const ink = table ? colours.mapped : kind === 'alone' || kind === 'fault' ? colours.lost : kind === 'relayed' ? colours.relay : kind === 'came' ? colours.ink : colours.direct;
    ctx.lineWidth = 2;
    ctx.strokeStyle = ink;
    const hollow = kind === 'expired' || kind === 'evicted' || kind === 'came';
    ctx.fillStyle = hollow ? colours.paper : ink;
    ctx.beginPath();
    if (table) ctx.rect(x - 5, y - 5, 10, 10);
    else ctx.arc(x, y, 6, 0, 7);
    ctx.fill();
    if (hollow) ctx.stroke();
    if (!text) return;
    ctx.font = `650 ${size}px ${font}`;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = colours.paper;
    ctx.beginPath();
    ctx.roundRect(tx - 3, y - size * 0.7, wide + 6, size * 1.4, size * 0.4);
    ctx.fill();
    ctx.fillStyle = ink;
    ctx.fillText(text, tx, y + 0.5);
  }
}

/** Since when, and how long, each person has which path. @param {MeetRun} run */
function bands(run) {
  /** @type {{node: number, from: number, to: number, path: 'direct'|'relay'|'none'}[]} */
  const all = [];
  for (const { kind, node, at } of run.marks) {
    const path = kind === 'relayed' ? 'relay' : kind === 'direct' || kind === 'moved' ? 'direct' : kind === 'alone' || kind === 'fault' ? 'none' : null;
    if (!path) continue;
    const before = all.findLast((band) => band.node === node);
    if (before) before.to = at;
    all.push({ node, from: at, to: Infinity, path });
  }
  return all;
}

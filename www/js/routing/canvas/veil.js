/** Between the layers: paper over whatever is not looked for, with holes for the nodes that are. */

/** @import { Palette } from '../look.js' */
/** @import { Places } from '../stage.js' */

/** How much of the rest is seen through it. */
const COVER = 0.78;

export class Veil {
  #shape = '';

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) { this.canvas = canvas; }

  forget() { this.#shape = ''; }

  /** @param {Places} places @param {{nodes: Set<number>, edition: number}|null} found @param {Palette} colours @param {number} scale */
  paint({ px, py, radius, edition }, found, colours, scale) {
    const { canvas } = this;
    const shape = found ? `${edition}|${found.edition}|${canvas.width}x${canvas.height}|${colours.paper}` : '';
    if (shape === this.#shape) return;
    this.#shape = shape;
    canvas.hidden = !found;
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, canvas.width, canvas.height);
    if (!found) return;
    ctx.globalAlpha = COVER;
    ctx.fillStyle = colours.paper;
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.globalAlpha = 1;
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.globalCompositeOperation = 'destination-out';
    ctx.beginPath();
    for (const node of found.nodes) {
      if (node >= px.length) continue;
      ctx.moveTo(px[node] + radius + 3, py[node]);
      ctx.arc(px[node], py[node], radius + 3, 0, 7);
    }
    ctx.fill();
    ctx.globalCompositeOperation = 'source-over';
  }
}

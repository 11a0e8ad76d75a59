/** From where the network is looked at: fitted, enlarged, moved. */

/** The most it is enlarged. */
const NEAREST = 24;

export class Camera {
  /** In pixels. */ width = 1;
  height = 1;
  /** The middle of what nothing stands before, from above. */
  middle = 0.5;
  zoom = 1;
  /** What is in the middle, in the coordinates of the layout. */
  x = 0;
  y = 0;
  /** Pixels for one unit of the layout. */
  kx = 1;
  ky = 1;
  /** Counts up with every change. */
  edition = 0;

  /** Fits a picture into a room, and leaves a margin for names. @param {number} width @param {number} height @param {number} wide how much wider than high it wants to be @param {number} margin in pixels @param {number} above so many of them at the top are taken by something else */
  fit(width, height, wide, margin, above) {
    this.width = width;
    this.height = height;
    this.middle = (height + above) / 2;
    const [across, down] = [width - 2 * Math.min(margin, width * 0.12), height - above - 2 * Math.min(margin * 0.8, (height - above) * 0.12)];
    this.baseX = Math.max(20, Math.min(across, down * wide) / 2);
    this.baseY = Math.max(20, Math.min(down, across / Math.min(wide, 0.8)) / 2);
    this.#set();
  }
  baseX = 1;
  baseY = 1;

  #set() {
    this.kx = this.baseX * this.zoom;
    this.ky = this.baseY * this.zoom;
    // Something of it stays in sight.
    const [mx, my] = [Math.max(0, 1 - 0.7 / this.zoom), Math.max(0, 1 - 0.7 / this.zoom)];
    this.x = Math.min(mx, Math.max(-mx, this.x));
    this.y = Math.min(my, Math.max(-my, this.y));
    this.edition += 1;
  }

  /** @param {number} x */
  sx(x) { return this.width / 2 + (x - this.x) * this.kx; }
  /** @param {number} y */
  sy(y) { return this.middle + (y - this.y) * this.ky; }

  /** Enlarges; what is at the point stays there. @param {number} by a factor @param {number} [px] @param {number} [py] */
  enlarge(by, px = this.width / 2, py = this.middle) {
    const to = Math.min(NEAREST, Math.max(1, this.zoom * by));
    if (to === this.zoom) return;
    const [dx, dy] = [px - this.width / 2, py - this.middle];
    this.x += dx / this.kx - dx / (this.baseX * to);
    this.y += dy / this.ky - dy / (this.baseY * to);
    this.zoom = to;
    this.#set();
  }

  /** Moves the picture by so many pixels. @param {number} dx @param {number} dy */
  pan(dx, dy) {
    this.x -= dx / this.kx;
    this.y -= dy / this.ky;
    this.#set();
  }

  /** All of it. */
  whole() {
    this.zoom = 1;
    this.x = 0;
    this.y = 0;
    this.#set();
  }

  /** Brings a place into sight when it is not. @param {number} x @param {number} y */
  show(x, y) {
    const [px, py] = [this.sx(x), this.sy(y)];
    // Less than the margin of the whole picture, which is in sight anyway.
    const [mx, my] = [Math.min(10, this.width * 0.06), Math.min(10, this.height * 0.06)];
    if (px >= mx && px <= this.width - mx && py >= my && py <= this.height - my) return;
    this.x = x;
    this.y = y;
    this.#set();
  }
}

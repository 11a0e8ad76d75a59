/** Keys and a mouse, as Puppeteer has them. */

/** Keys that are no letters, by the names of the web. @type {Record<string, string>} */
const KEYS = {
  Backspace: '\uE003', Tab: '\uE004', Enter: '\uE007', Shift: '\uE008', Control: '\uE009', Alt: '\uE00A', Escape: '\uE00C', Space: ' ', PageUp: '\uE00E', PageDown: '\uE00F',
  End: '\uE010', Home: '\uE011', ArrowLeft: '\uE012', ArrowUp: '\uE013', ArrowRight: '\uE014', ArrowDown: '\uE015', Insert: '\uE016', Delete: '\uE017', Meta: '\uE03D',
};
const code = (/** @type {string} */ key) => KEYS[key] ?? key;

/** @typedef {(what: string, method: string, body?: unknown) => Promise<any>} Ask */

export class Keyboard {
  /** @param {Ask} ask */
  constructor(ask) {
    this.ask = ask;
  }

  /** @param {any[]} actions */
  #act(actions) {
    return this.ask('/actions', 'POST', { actions: [{ type: 'key', id: 'keys', actions }] });
  }

  /** @param {string} key */
  down(key) {
    return this.#act([{ type: 'keyDown', value: code(key) }]);
  }

  /** @param {string} key */
  up(key) {
    return this.#act([{ type: 'keyUp', value: code(key) }]);
  }

  /** @param {string} key */
  press(key) {
    return this.#act([{ type: 'keyDown', value: code(key) }, { type: 'keyUp', value: code(key) }]);
  }

  /** @param {string} text */
  async type(text) {
    for (const letter of text) await this.press(letter);
  }
}

export class Mouse {
  #x = 0;
  #y = 0;

  /** @param {Ask} ask */
  constructor(ask) {
    this.ask = ask;
  }

  /** @param {any[]} actions */
  #act(actions) {
    return this.ask('/actions', 'POST', { actions: [{ type: 'pointer', id: 'mouse', parameters: { pointerType: 'mouse' }, actions }] });
  }

  /** The steps of a way. The protocol has whole pixels. @param {number} x @param {number} y @param {number} steps */
  #way(x, y, steps) {
    const [fromX, fromY] = [this.#x, this.#y];
    [this.#x, this.#y] = [x, y];
    const on = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ n) => Math.round(from + ((to - from) * n) / steps);
    return Array.from({ length: steps }, (_, i) => ({ type: 'pointerMove', duration: 0, x: on(fromX, x, i + 1), y: on(fromY, y, i + 1) }));
  }

  /** @param {number} x @param {number} y @param {{steps?: number}} [how] */
  move(x, y, { steps = 1 } = {}) {
    return this.#act(this.#way(x, y, steps));
  }

  down() {
    return this.#act([{ type: 'pointerDown', button: 0 }]);
  }

  up() {
    return this.#act([{ type: 'pointerUp', button: 0 }]);
  }

  /** @param {number} x @param {number} y */
  click(x, y) {
    return this.#act([...this.#way(x, y, 1), { type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 }]);
  }

  /** @param {{deltaX?: number, deltaY?: number}} by */
  wheel({ deltaX = 0, deltaY = 0 }) {
    return this.ask('/actions', 'POST', { actions: [{ type: 'wheel', id: 'wheel', actions: [{ type: 'scroll', x: Math.round(this.#x), y: Math.round(this.#y), deltaX, deltaY }] }] });
  }

  /** No button is held, and it is where it began. */
  async reset() {
    await this.ask('/actions', 'DELETE');
    await this.move(0, 0);
  }
}

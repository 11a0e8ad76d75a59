/** An element of the page, as Puppeteer hands it out. */

/** @typedef {import('./page.js').WebKitPage} Page */

/** Where a click hits an element: scrolled to where it is seen, its middle. @param {Element} node */
export async function middle(node) {
  const seen = await new Promise((done) => {
    const watch = new IntersectionObserver(([one]) => {
      done(one.intersectionRatio === 1);
      watch.disconnect();
    });
    watch.observe(node);
  });
  if (!seen) node.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
  const rect = [...node.getClientRects()].find(({ width, height }) => width > 0 && height > 0);
  if (!rect) throw new Error(`nothing to click on: ${node.outerHTML.slice(0, 120)}`);
  const [left, right] = [Math.max(rect.left, 0), Math.min(rect.right, innerWidth)];
  const [top, bottom] = [Math.max(rect.top, 0), Math.min(rect.bottom, innerHeight)];
  return { x: (left + right) / 2, y: (top + bottom) / 2 };
}

export class WebKitElement {
  /** @param {Page} page @param {Record<string, string>} reference as the protocol has it */
  constructor(page, reference) {
    this.page = page;
    this.reference = reference;
  }

  /** @param {(node: any, ...args: any[]) => any} work @param {...any} args @returns {Promise<any>} */
  evaluate(work, ...args) {
    return this.page.evaluate(work, this, ...args);
  }

  async click() {
    const { x, y } = await this.evaluate(middle);
    await this.page.mouse.click(x, y);
  }

  async hover() {
    const { x, y } = await this.evaluate(middle);
    await this.page.mouse.move(x, y);
  }

  focus() {
    return this.evaluate((node) => node.focus());
  }

  /** @param {string} text */
  async type(text) {
    await this.focus();
    await this.page.keyboard.type(text);
  }

  boundingBox() {
    return this.evaluate((node) => {
      const { x, y, width, height } = node.getBoundingClientRect();
      return { x, y, width, height };
    });
  }
}

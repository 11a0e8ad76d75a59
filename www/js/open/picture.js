/** A part of the page as a drawing that stands by itself. */

/** Pixels of a painted picture for one of the page: for print. */
const SCALE = 2;
const XHTML = 'http://www.w3.org/1999/xhtml';

/**
 * A part of the page as it is seen now, as SVG.
 * @param {Element} part
 * @param {string} title
 * @returns {{text: string, width: number, height: number}}
 */
export function drawing(part, title) {
  const { width, height } = part.getBoundingClientRect();
  const [before, after] = around(part);
  const content = `${before}${markup(part, XHTML, `position:fixed;inset:0;margin:0;width:${width}px;height:${height}px`)}${after}`;
  // The root is what `:root` means in the rules.
  const root = attributes(document.documentElement);
  const text = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"${root}><title>${escaped(title)}</title><style>${escaped(rules())}</style><foreignObject width="100%" height="100%">${content}</foreignObject></svg>`;
  return { text, width, height };
}

/**
 * A drawing as PNG.
 * @param {{text: string, width: number, height: number}} drawn
 * @returns {Promise<Blob>}
 */
export async function painted({ text, width, height }) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement('canvas'), { width: Math.round(width * SCALE), height: Math.round(height * SCALE) });
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => { canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error('no picture'))), 'image/png'); });
}

/** Empty copies of what a part is in, so that the same rules hold: what stands before it and what behind. @param {Element} part */
function around(part) {
  let [before, after] = ['', ''];
  for (let outer = part.parentElement; outer; outer = outer.parentElement) {
    const outermost = outer === document.documentElement ? ` xmlns="${XHTML}"` : '';
    before = `<${outer.localName}${outermost}${attributes(outer)}>${before}`;
    after += `</${outer.localName}>`;
  }
  return [before, after];
}

/**
 * An element as XML, with what its attributes do not say: what was drawn on
 * it, how far it is scrolled, what is chosen.
 * @param {Element} node
 * @param {string|null} space the namespace it stands in
 * @param {string} style
 * @param {number} up how far what it is in was scrolled
 * @returns {string}
 */
function markup(node, space, style = '', up = 0) {
  if (node instanceof HTMLCanvasElement) {
    const { width, height } = node.getBoundingClientRect();
    // What sticks to its place does not move with what it is in.
    const stuck = getComputedStyle(node).position === 'sticky' ? `;position:relative;top:${up}px` : '';
    return `<img${attributes(node, `${style};width:${width}px;height:${height}px${stuck}`)} src="${node.toDataURL()}"/>`;
  }
  const own = node.namespaceURI === space ? '' : ` xmlns="${node.namespaceURI}"`;
  const scrolled = node.scrollTop > 0 ? `margin-top:${-node.scrollTop}px` : '';
  const children = [...node.childNodes].map((child) => {
    if (child instanceof Element) return markup(child, node.namespaceURI, child === node.firstElementChild ? scrolled : '', node.scrollTop || up);
    return child.nodeType === Node.TEXT_NODE ? escaped(child.nodeValue ?? '') : '';
  });
  return `<${node.localName}${own}${attributes(node, style)}${state(node)}>${children.join('')}</${node.localName}>`;
}

/** What a person typed or chose. @param {Element} node */
function state(node) {
  if (node instanceof HTMLInputElement && node.type !== 'checkbox') return ` value="${escaped(node.value)}"`;
  if (node instanceof HTMLInputElement && node.checked) return ' checked=""';
  return node instanceof HTMLOptionElement && node.selected ? ' selected=""' : '';
}

/** Attributes that {@link state} writes, for it knows them as they are now. */
const STATE = ['value', 'checked', 'selected'];

/** @param {Element} node @param {string} style to be added */
function attributes(node, style = '') {
  const all = [...node.attributes].filter(({ name }) => name !== 'style' && !STATE.includes(name)).map(({ name, value }) => ` ${name}="${escaped(value)}"`);
  const whole = [node.getAttribute('style'), style].filter(Boolean).join(';');
  return all.join('') + (whole ? ` style="${escaped(whole)}"` : '');
}

/** Every rule of the page that holds at its size: a drawing has another one. */
const rules = () => [...document.styleSheets].flatMap((sheet) => within(listed(sheet))).join('\n');

/** The rules of a sheet. Where the page is one document, its sheets are addresses, which browsers do not let one read. @param {CSSStyleSheet} sheet */
function listed(sheet) {
  const inside = /^data:text\/css;base64,(.*)$/.exec(sheet.href ?? '');
  if (!inside) return sheet.cssRules;
  const read = new CSSStyleSheet();
  read.replaceSync(new TextDecoder().decode(Uint8Array.from(atob(inside[1]), (c) => c.charCodeAt(0))));
  return read.cssRules;
}

/** @param {CSSRuleList} list @returns {string[]} */
function within(list) {
  return [...list].flatMap((rule) => {
    if (rule instanceof CSSMediaRule) return matchMedia(rule.conditionText).matches ? within(rule.cssRules) : [];
    return rule instanceof CSSLayerBlockRule ? [`@layer ${rule.name} {`, ...within(rule.cssRules), '}'] : [rule.cssText];
  });
}

/** @param {string} text */
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

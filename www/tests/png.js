/** Pictures as PNG files, read and written: 8 bits, red, green and blue, as browsers draw them. */
import { deflateSync, inflateSync } from 'node:zlib';

/** @typedef {{width: number, height: number, rgb: Uint8Array}} Picture */

const MAGIC = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** @param {number} a left @param {number} b above @param {number} c above on the left */
function paeth(a, b, c) {
  const [da, db, dc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return da <= db && da <= dc ? a : db <= dc ? b : c;
}

/** What a byte is foretold to be from those before it. @type {((a: number, b: number, c: number) => number)[]} */
const FORETOLD = [() => 0, (a) => a, (_, b) => b, (a, b) => (a + b) >> 1, paeth];

/** Adds what was foretold to a line. The two that browsers use most have no call for each byte. @param {number} kind @param {Uint8Array} now @param {Uint8Array} before @param {number} colours */
function restored(kind, now, before, colours) {
  if (kind === 1) for (let x = colours; x < now.length; x += 1) now[x] += now[x - colours];
  if (kind === 2) for (let x = 0; x < now.length; x += 1) now[x] += before[x];
  if (kind < 3) return;
  const foretold = FORETOLD[kind];
  for (let x = 0; x < now.length; x += 1) now[x] += x < colours ? foretold(0, before[x], 0) : foretold(now[x - colours], before[x], before[x - colours]);
}

/** @param {Uint8Array} file @returns {Picture} */
export function decoded(file) {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const parts = [];
  let [width, height, colours] = [0, 0, 0];
  for (let at = MAGIC.length; at < bytes.length;) {
    const [length, name] = [bytes.readUInt32BE(at), bytes.toString('latin1', at + 4, at + 8)];
    const body = bytes.subarray(at + 8, at + 8 + length);
    if (name === 'IHDR') {
      [width, height, colours] = [body.readUInt32BE(0), body.readUInt32BE(4), { 2: 3, 6: 4 }[body[9]] ?? 0];
      if (!colours || body[8] !== 8 || body[12]) throw new Error('a PNG of another kind than browsers draw');
    }
    if (name === 'IDAT') parts.push(body);
    at += 12 + length;
  }
  const raw = inflateSync(Buffer.concat(parts));
  const line = width * colours;
  const [before, now] = [new Uint8Array(line), new Uint8Array(line)];
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0, at = 0; y < height; y += 1) {
    now.set(raw.subarray(at + 1, at + 1 + line));
    restored(raw[at], now, before, colours);
    at += line + 1;
    if (colours === 3) rgb.set(now, y * line);
    else for (let x = 0; x < width; x += 1) rgb.set(now.subarray(x * 4, x * 4 + 3), (y * width + x) * 3);
    before.set(now);
  }
  return { width, height, rgb };
}

/** The sum by which a reader knows that a part is whole. @param {Uint8Array} bytes */
function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

/** @param {string} name @param {Uint8Array} body */
function chunk(name, body) {
  const part = Buffer.alloc(12 + body.length);
  part.writeUInt32BE(body.length, 0);
  part.write(name, 4, 'latin1');
  part.set(body, 8);
  part.writeUInt32BE(crc(part.subarray(4, 8 + body.length)), 8 + body.length);
  return part;
}

/** @param {Picture} picture */
export function encoded({ width, height, rgb }) {
  const line = width * 3;
  const raw = Buffer.alloc((line + 1) * height);
  for (let y = 0; y < height; y += 1) {
    const row = (/** @type {number} */ kind) => Uint8Array.from({ length: line }, (_, x) => {
      const byte = (/** @type {number} */ back, /** @type {number} */ up) => (x < back || y < up ? 0 : rgb[(y - up) * line + x - back]);
      return byte(0, 0) - FORETOLD[kind](byte(3, 0), byte(0, 1), byte(3, 1));
    });
    // The one whose bytes are nearest to nothing is the smallest.
    const rows = FORETOLD.map((_, kind) => row(kind));
    const sizes = rows.map((bytes) => bytes.reduce((sum, byte) => sum + Math.min(byte, 256 - byte), 0));
    const best = sizes.indexOf(Math.min(...sizes));
    raw[y * (line + 1)] = best;
    raw.set(rows[best], y * (line + 1) + 1);
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([MAGIC, chunk('IHDR', head), chunk('IDAT', deflateSync(raw, { level: 9 })), chunk('IEND', new Uint8Array(0))]);
}

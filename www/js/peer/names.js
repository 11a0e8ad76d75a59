/** Names for people who take part: two plain words, as friendly as they are unlike each other. */
const FIRST = ['amber', 'brave', 'calm', 'clever', 'coral', 'eager', 'early', 'gentle', 'golden', 'happy', 'honest', 'jolly', 'kind', 'lively', 'lucky', 'mellow', 'nimble', 'olive', 'patient', 'quick', 'quiet', 'rosy', 'silver', 'sunny', 'swift', 'tidy', 'violet', 'warm', 'wise', 'witty'];
const SECOND = ['badger', 'beaver', 'crane', 'dolphin', 'falcon', 'finch', 'fox', 'gecko', 'heron', 'ibis', 'jay', 'koala', 'lark', 'lemur', 'lynx', 'marten', 'mole', 'newt', 'otter', 'owl', 'panda', 'plover', 'puffin', 'raven', 'seal', 'stork', 'swan', 'tern', 'vole', 'wren'];

/** @param {string[]} words */
const draw = (words) => words[crypto.getRandomValues(new Uint32Array(1))[0] % words.length];

/** A new name. */
export const nameMe = () => `${draw(FIRST)} ${draw(SECOND)}`;

/** Letters of a name that a person types. */
const LONGEST = 24;
/** What neighbours are told has no other letters than these; the German ones have a spelling. */
const SPELT = /** @type {Record<string, string>} */ ({ ä: 'ae', ö: 'oe', ü: 'ue', Ä: 'Ae', Ö: 'Oe', Ü: 'Ue', ß: 'ss' });

/** A typed name as neighbours are told it; nothing when nothing is left. @param {string} typed */
export function spell(typed) {
  const spelt = typed.normalize('NFC').replace(/[äöüÄÖÜß]/g, (letter) => SPELT[letter]).normalize('NFKD');
  return spelt.replace(/[^ -~]/g, '').replace(/\s+/g, ' ').trim().slice(0, LONGEST).trim();
}

/** How often a new name may be drawn. */
export const SPINS = 3;

/** The hue of a person, the same on every screen. @param {string} name */
export function hueOf(name) {
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
  return (hash * 137) % 360;
}

/** What the agent of a neighbour says of it: the name of a tab, or the program. @param {string} agent */
export function personOf(agent) {
  const at = agent.indexOf('(tab) ');
  return at < 0 ? null : agent.slice(at + 6);
}

/** An address at which other pages call this one, and the secret by which it has that again: no other page on earth has one of these. */
export function drawLine() {
  const [first, a, b, c, high, low] = crypto.getRandomValues(new Uint8Array(6));
  const port = 1024 + ((high << 8 | low) % (65536 - 1024));
  return /** @type {const} */ ([`${240 + first % 15}.${a}.${b}.${c}:${port}`, hex(crypto.getRandomValues(new Uint8Array(16)))]);
}

/** @param {Uint8Array} bytes */
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** True for the address of a page, which is called through the servent of the room. @param {string} at */
export const isPage = (at) => /^2(4\d|5[0-4])\./.test(at);

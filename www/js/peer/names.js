/** Names for people who take part: two plain words, as friendly as they are unlike each other. */
const FIRST = ['amber', 'brave', 'calm', 'clever', 'coral', 'eager', 'early', 'gentle', 'golden', 'happy', 'honest', 'jolly', 'kind', 'lively', 'lucky', 'mellow', 'nimble', 'olive', 'patient', 'quick', 'quiet', 'rosy', 'silver', 'sunny', 'swift', 'tidy', 'violet', 'warm', 'wise', 'witty'];
const SECOND = ['badger', 'beaver', 'crane', 'dolphin', 'falcon', 'finch', 'fox', 'gecko', 'heron', 'ibis', 'jay', 'koala', 'lark', 'lemur', 'lynx', 'marten', 'mole', 'newt', 'otter', 'owl', 'panda', 'plover', 'puffin', 'raven', 'seal', 'stork', 'swan', 'tern', 'vole', 'wren'];

/** @param {string[]} words */
const draw = (words) => words[crypto.getRandomValues(new Uint32Array(1))[0] % words.length];

/** A new name. */
export const nameMe = () => `${draw(FIRST)} ${draw(SECOND)}`;

/** How often a new name may be drawn. */
export const SPINS = 3;

/** The hue of somebody, the same on every screen. @param {string} name */
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

/** What Spanish sentences have in common. */
import { pluralIn } from '#lab/strings/shared.js';

/** @typedef {import('#lab/strings/shared.js').Args} Args */
/** @typedef {import('#lab/strings/shared.js').Sentences} Sentences */

export { ms } from '#lab/strings/shared.js';

export const plural = pluralIn('es');

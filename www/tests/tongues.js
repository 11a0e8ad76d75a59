/** The languages of the page other than English, and what tells that a sentence of one was left in English. */
import { de } from '../js/strings/de.js';
import { es } from '../js/strings/es.js';
import { fr } from '../js/strings/fr.js';

export const TONGUES = [de, es, fr];

/** Words of English that no language of the page has. */
const COMMON = 'the|and|of|is|are|it|its|with|from|to|by|for|that|this|have|not|which|who|what|when|nobody|somebody|asks?|gets?|line|piece|nothing';
/** As whole words: neither `notés` nor `piece_time` holds one. @param {string} words */
const whole = (words) => new RegExp(`(?<![\\p{L}_])(${words})(?![\\p{L}_])`, 'iu');
/** The same and more, for one language: French has some of them. @type {Record<string, RegExp>} */
export const ENGLISH = {
  de: whole(`${COMMON}|has|place|message`),
  es: whole(`${COMMON}|place|message`),
  fr: whole(`${COMMON}|has`),
};

/** A sentence without what it quotes: a request, or what is searched for. @param {string} sentence */
export const quoteless = (sentence) => sentence.replace(/„[^“]*“|«[^»]*»|: [A-Z]+ \/.*/g, '');

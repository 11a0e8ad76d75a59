/** Which language the page speaks: that of its link, else the one chosen before, else the browser's. */
import { speakIn } from '#lab/strings.js';
import { recall, remember } from '#lab/theme.js';

/** Languages a person chooses among, each by what its speakers call it. @type {Record<string, string>} */
export const LANGUAGES = { en: 'English', de: 'Deutsch', es: 'Español', fr: 'Français' };
/** How each is loaded, when it is wanted; English is always here. @type {Record<string, () => Promise<import('#lab/strings.js').Tongue|null>>} */
const TONGUES = {
  en: async () => null,
  de: async () => (await import('#lab/strings/de.js')).de,
  es: async () => (await import('#lab/strings/es.js')).es,
  fr: async () => (await import('#lab/strings/fr.js')).fr,
  ...Object.fromEntries(['xa', 'xb'].map((id) => [id, async () => (await import('#lab/strings/pseudo.js')).pseudo(id)])),
};
/** Those that are read from right to left. Pictures and time stay as they are: their axes are no sentences. */
const FROM_THE_RIGHT = ['xb'];

let now = 'en';
/** A person chose it; a language that merely is the browser's is no part of a link. */
let chosen = false;

/** @param {string} id */
const known = (id) => Object.hasOwn(TONGUES, id);
/** What stands in a fragment. @param {string} fragment */
const named = (fragment) => /[?&]lang=(\w+)/.exec(fragment)?.[1] ?? '';
/** The first of the browser's that the page has. */
const preferred = () => navigator.languages.map((one) => one.slice(0, 2).toLowerCase()).find(known) ?? 'en';

/** Finds the language out and speaks it. @param {string} fragment of the address */
export async function speakAsWanted(fragment) {
  const wanted = [named(fragment), recall('language') ?? ''].find(known);
  chosen = wanted !== undefined;
  now = wanted ?? preferred();
  speakIn(await TONGUES[now]());
  document.documentElement.lang = now;
  document.documentElement.dir = FROM_THE_RIGHT.includes(now) ? 'rtl' : 'ltr';
}

/** What a link says of the language. */
export const inLink = () => (chosen ? [`lang=${now}`] : []);

/** True when a link is in another language than the page. @param {string} fragment */
export const speaksOtherwise = (fragment) => known(named(fragment)) && named(fragment) !== now;

/** What is spoken. */
export const language = () => now;

/** Speaks another language from the next loading on. @param {string} id */
export function chooseLanguage(id) {
  remember('language', id);
  now = id;
  chosen = true;
}

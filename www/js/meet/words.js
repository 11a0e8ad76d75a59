/** What an arrow is, in a word on the picture and in a sentence beside it. */
import { clock } from '#lab/format.js';
import { told } from '#lab/session/future.js';
import { t } from '#lab/strings.js';

/** @import * as T from './types' */
/** @import { MeetRun } from './run.js' */
/** @typedef {'knock'|'answer'|'choose'|'place'|'data'|'relay'} Kind */

/** How an arrow is drawn. @param {T.MeetArrow} arrow @param {number} place @returns {Kind} */
export function kindOf({ kind, step, from, to }, place) {
  if (kind === 'knock') return step === 'ask' ? 'knock' : step === 'answer' ? 'answer' : 'choose';
  if (kind === 'data') return from === place || to === place ? 'relay' : 'data';
  return 'place';
}

/** The port of an address, which is what differs. @param {string} addr */
export const port = (addr) => addr.slice(addr.lastIndexOf(':'));

/** The word on an arrow. @param {T.MeetArrow} arrow */
export const label = ({ kind, step }) => t(kind === 'knock' ? `label.knock.${step}` : `label.${kind}`);

/** What became of it. @param {T.MeetArrow} arrow @param {MeetRun} run */
export function fate(arrow, run) {
  const { fate: end, at, to, dropped, lost } = arrow;
  const name = to === null ? '' : run.node(to)?.name ?? '';
  if (at === null && to === null) return t('fate.nowhere');
  if (at === null || !told(at, run.now)) return t('fate.flying');
  if (end === 'dropped') return t(`fate.dropped.${dropped}`, { router: name });
  if (end === 'lost') return t(`fate.lost.${lost}`);
  return t('fate.arrived', { at: clock(at), who: name });
}

/** The whole story of an arrow in a sentence. @param {T.MeetArrow} arrow @param {MeetRun} run */
export function sentence(arrow, run) {
  return t('arrow.sentence', { at: clock(arrow.sent), from: run.node(arrow.from)?.name ?? '', seen: arrow.seen, target: arrow.target, what: label(arrow), fate: fate(arrow, run) });
}

/** In a few words which path two people have. @param {T.PersonView|null} person */
export const pathOf = (person) => (!person ? 'down' : !person.came ? 'away' : person.outcome);

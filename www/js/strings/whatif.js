/** Sentences for questions to a recording. */

/** @import { Args } from './en.js' */

/** @type {Record<string, string | ((a: Args) => string)>} */
export const whatif = {
  'whatif.title': 'What if …',
  'whatif.branches': 'Ask “what if” at an event that came from outside: the answer becomes a branch here, and what was recorded stays.',
  'whatif.hint': 'The answer is a branch: what this servent would have decided. Everything else it was given stays as recorded.',
  'whatif.worth': 'A branch of a recording: what this servent would have decided with what it got. What the other machines would have answered instead is not recorded.',
  'whatif.not.timer': 'One of its own timers led here. Only what came from outside can be changed: step to such an event.',
  'whatif.not.own': 'Something of its own led here: the end of a turn, in which it answers all at once, or its disk. Only what came from outside can be changed: step to such an event.',
  'whatif.not.sent': 'This datagram left the servent that was recorded. What it led to at the other end is not on this recording; ask about one that arrived.',
  'whatif.lose.datagram': 'this datagram had been lost?',
  'whatif.late.datagram': (a) => `it had come ${a.by} later?`,
  'whatif.twice.datagram': 'it had come twice?',
  'whatif.lose.connection': 'this connection had broken here?',
  'whatif.late.connection': (a) => `this, and all behind it on its connection, had come ${a.by} later?`,
  'whatif.lose.arrival': 'this connection had never been made?',
  'whatif.late.arrival': (a) => `it had been made ${a.by} later?`,
  'whatif.lose.dial': 'no host had answered there?',
  'whatif.late.dial': (a) => `the answer had taken ${a.by} longer?`,
  'whatif.lose.command': 'the user had not asked for this?',
  'whatif.late.command': (a) => `it had been asked for ${a.by} later?`,
  'whatif.lose.file': 'this file had not been there?',
  'whatif.late.file': (a) => `it had been there ${a.by} later?`,
  'whatif.asked': (a) => `What if ${a.text} ${a.same ? 'It makes no difference to this servent.' : 'A new branch begins here; what was recorded is kept.'} What the other machines would have answered instead is not recorded.`,
  'whatif.lost': (a) => `${WHAT[a.what] ?? 'This'}${a.who ? ` of ${a.who}` : ''} does not come.`,
  'whatif.late': (a) => `${WHAT[a.what] ?? 'This'}${a.who ? ` of ${a.who}` : ''} comes later.`,
  'whatif.twice': (a) => `${WHAT[a.what] ?? 'This'}${a.who ? ` of ${a.who}` : ''} comes twice.`,
  'whatif.lost.short': 'lost at',
  'whatif.late.short': 'late at',
  'whatif.twice.short': 'twice at',
  'whatif.branch': 'What if: not recorded',
  'whatif.side.branch': 'what if',
  'whatif.side.recorded': 'as it was recorded',
};

/** @type {Record<string, string>} */
const WHAT = { datagram: 'A datagram', connection: 'What follows on a connection', arrival: 'A connection', dial: 'The answer to a dial', command: 'A command', file: 'A file' };

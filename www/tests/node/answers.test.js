/** A learner's answers as a table: quoted, and never a formula. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvOf, inWords } from '../../js/lesson/commits.js';
import { Pseudonyms, classTable } from '../../js/peer/commits.js';

const ONE = { at: '2026-01-01T00:00:00.000Z', lesson: 'flood', title: 'A flood, and its duplicates', step: 3, kind: 'predict', said: '2', right: true, attempt: 1, seconds: 12 };

test('a line for each commit, with what was said in words', () => {
  const [head, line, end] = csvOf([ONE]).split('\r\n');
  assert.equal(head, 'at,lesson,title,step,kind,said,right,attempt,seconds');
  assert.equal(line, '2026-01-01T00:00:00.000Z,flood,"A flood, and its duplicates",3,predict,2,true,1,12');
  assert.equal(end, '');
});

test('the name of a teacher’s own lesson is no formula for a spreadsheet', () => {
  const said = csvOf([{ ...ONE, title: '=HYPERLINK("x")', said: '-1' }]).split('\r\n')[1];
  assert.ok(said.includes(`"'=HYPERLINK(""x"")"`) && said.includes(",'-1,"), said);
});

test('a reply in words', () => {
  assert.equal(inWords(/** @type {any} */ ({ choice: 1 }), /** @type {any} */ ({ choice: ['no', 'yes'] })), 'yes');
  assert.equal(inWords(/** @type {any} */ ({ order: ['a', 'b'] }), undefined), 'a → b');
  assert.equal(inWords(/** @type {any} */ ({ number: 0 }), undefined), '0');
});

/** A lesson of a room as the core gives it, as far as answers are concerned. */
const LESSON = {
  title: 'Find the song',
  steps: [
    { do: 'say', text: 'The scene', choices: [] },
    { do: 'predict', text: 'How many hear it?\nThink.', choices: [{ text: 'Some' }, { text: 'All, I think' }] },
    { do: 'again', text: 'Once more', choices: [{ text: 'Some' }, { text: 'All, I think' }] },
    { do: 'observe', text: 'What became of it?', choices: [{ text: 'Dropped' }, { text: 'Nothing' }] },
  ],
};
const GOING = /** @type {any} */ ({ id: 'find-the-song', run: 1, step: 3, truth: { 1: 1, 3: null }, tally: {} });

test('a class’s answers: a line for each commit, the same question in both rounds, and nothing where nothing is known', () => {
  const lines = classTable(LESSON, GOING, [[1, { at: 'x', commits: { 1: 0, 2: 1, 3: 0 } }], [2, { at: 'y', commits: {} }]]).trim().split('\r\n');
  assert.deepEqual(lines, [
    'person,lesson,step,round,question,said,happened',
    '1,Find the song,2,predict,How many hear it?,Some,false',
    '1,Find the song,3,again,How many hear it?,"All, I think",true',
    '1,Find the song,4,observe,What became of it?,Dropped,',
  ]);
});

test('numbers stand for people: the same in the table and on paper, others in another run, and no name', () => {
  const members = ['a', 'b', 'c', 'd'].map((at) => ({ at, name: `name of ${at}`, commits: { 1: 0 } }));
  const numbers = new Pseudonyms();
  const first = numbers.drawn(1, members);
  assert.deepEqual(first.map(([n]) => n), [1, 2, 3, 4]);
  assert.deepEqual(numbers.drawn(1, [...members, { at: 'e', name: 'late', commits: {} }]).slice(0, 4), first);
  assert.doesNotMatch(classTable(LESSON, GOING, first), /name of/);
  const orders = new Set();
  for (let run = 2; run < 60; run += 1) orders.add(numbers.drawn(run, members).map(([, { at }]) => at).join(''));
  assert.ok(orders.size > 1, 'the order is drawn');
});

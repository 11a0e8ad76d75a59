/** A learner's answers as a table: quoted, and never a formula. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvOf, inWords } from '../../js/lesson/commits.js';

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

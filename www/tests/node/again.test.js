/** A servent that does not answer is asked ever more rarely, and at once as before when it does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Again } from '../../js/peer/again.js';

test('a closed room is asked ever more rarely, at most once a minute', () => {
  const again = new Again(1000);
  assert.equal(again.after(true), 1000);
  assert.deepEqual([1, 2, 3, 4, 5, 6, 7].map(() => again.after(false)), [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  assert.equal(again.seconds, 60);
  assert.equal(again.after(true), 1000, 'it is there again');
});

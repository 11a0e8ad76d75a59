/** Every lesson from its first step to its last, with stored answers: the right ones are right, the wrong ones wrong, and each is told why. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { parts, plain } from '../../js/lesson/marks.js';
import { speak, t } from '../../js/strings.js';
import { inNode } from '../digest.js';
import { ANSWERS, DEEDS, WATCHED } from '../lessons.js';

/** @type {import('#servent')} */
let core;
before(async () => { core = await inNode(); });

test('there are twenty-six lessons and an exit test of each protocol, and answers to each', () => {
  const all = core.Lesson.all();
  const ids = all.map(({ id }) => id);
  assert.equal(all.filter((one) => !one.exit_test).length, 26);
  assert.equal(all.filter((one) => one.exit_test).length, 4);
  assert.deepEqual(Object.keys(ANSWERS), ids);
});

test('stored answers are right, stored wrong ones wrong, and each is told why', () => {
  for (const { id, steps } of core.Lesson.all()) {
    const lesson = core.Lesson.find(id);
    assert.ok(lesson);
    steps.forEach(({ task }, i) => {
      const where = `${id}, step ${i + 1}`;
      if (task?.question) {
        const { right, wrong } = ANSWERS[id][i];
        const [yes, no] = [lesson.judge(i, right), lesson.judge(i, wrong)];
        assert.ok(yes.right, `${where}: ${JSON.stringify(yes)}`);
        assert.ok(!no.right, `${where}: ${JSON.stringify(no)}`);
        assert.ok(yes.why.length > 15 && no.why.length > 15 && yes.why !== no.why, where);
        assert.equal(yes.truth, no.truth);
      } else if (task?.goal) {
        const { right, wrong } = DEEDS[id][i];
        const [yes, no] = [lesson.attempt(i, right), lesson.attempt(i, wrong)];
        assert.ok(yes.right && yes.failed === null && yes.tried > 10, `${where}: ${JSON.stringify(yes)}`);
        assert.ok(!no.right && no.failed !== null, `${where}: ${JSON.stringify(no)}`);
        assert.notEqual(yes.why, no.why);
      } else assert.ok(!ANSWERS[id][i], where);
    });
    lesson.free();
  }
});

test('a lesson says nothing of its answers, and names a passage that there is', () => {
  speak();
  for (const view of core.Lesson.all()) {
    assert.doesNotMatch(JSON.stringify(view), /"(holds|wrong|solution|right|otherwise)"/, view.id);
    assert.equal(view.steps.at(-1)?.kind, 'exit');
    for (const { kind, clause, text } of view.steps) {
      assert.notEqual(t(`lesson.${kind}`), `lesson.${kind}`);
      assert.ok(text.length > 15, view.id);
      if (clause) assert.ok(core.chapter(clause), `${view.id}: ${clause}`);
    }
    assert.ok(view.exit_test || view.steps.some(({ kind, clause }) => kind === 'explain' && clause), `${view.id} explains by a rule`);
  }
});

test('a step to watch has shown what was asked when its event has happened, or says why not before its end', () => {
  const watched = core.Lesson.all().flatMap((view) => view.steps.flatMap((step, i) => (step.kind === 'reveal' ? [{ view, step, i }] : [])));
  assert.deepEqual(watched.map(({ view }) => view.id).sort(), Object.keys(WATCHED).sort(), 'each lesson has one');
  for (const { view, step, i } of watched) {
    const lesson = core.Lesson.find(view.id);
    assert.ok(lesson);
    const [decided, told] = [lesson.decided(i), WATCHED[view.id]];
    if (typeof told === 'string') {
      assert.equal(decided, undefined, `${view.id}: ${told}`);
    } else {
      const [second, what] = told;
      const asked = view.steps.slice(0, i).findLast(({ kind }) => kind === 'predict');
      assert.ok(decided && decided > (asked?.at ?? 0) && decided <= (step.until ?? 0), `${view.id}: ${decided}`);
      assert.ok(Math.abs(decided / 1e6 - second) < 0.5, `${view.id}: at ${decided / 1e6} s, and not at ${second} s`);
      // The world says so itself.
      const run = core.World.fromScenario(view.view, lesson.scenario(i, {})).run();
      run.seek(decided);
      const [area, name] = what.split('.');
      const since = run.records(0, run.index(), '').filter(({ at }) => at > decided - 1e6);
      assert.ok(since.some(({ event }) => /** @type {any} */ (event)[area]?.what === name), `${view.id}: ${what} in the second before ${decided / 1e6} s`);
      run.free();
    }
    lesson.free();
  }
});

/** Every sentence in what the core gave. @param {unknown} value @returns {string[]} */
const sentences = (value) => (typeof value === 'string' ? [value] : value && typeof value === 'object' ? Object.values(value).flatMap(sentences) : []);

test('words, names and terms are set apart, and what stands between them stays as it is', () => {
  assert.deepEqual(parts('A **place**. It *sees what `a` sees*.'), ['A ', { tag: 'strong', parts: ['place'] }, '. It ', { tag: 'em', parts: ['sees what ', { tag: 'code', parts: ['a'] }, ' sees'] }, '.']);
  assert.equal(plain('2 * 3 * 4, or *`x`* and `y * z`'), '2 * 3 * 4, or x and y * z');
  assert.equal(plain('*now.'), '*now.', 'a mark without its end sets nothing apart, and takes nothing away');
});

test('no text of a lesson shows a mark, in any language', () => {
  let said = 0;
  for (const language of ['en', 'de', 'es', 'fr']) {
    const whys = core.Lesson.all(language).flatMap(({ id, steps }) => {
      const lesson = core.Lesson.find(id, language);
      assert.ok(lesson);
      const all = steps.flatMap(({ task }, i) => (task?.question ? [lesson.judge(i, ANSWERS[id][i].right), lesson.judge(i, ANSWERS[id][i].wrong)] : []));
      lesson.free();
      return all;
    });
    for (const text of sentences([core.Lesson.all(language), core.Groups.all(language), whys])) {
      assert.doesNotMatch(plain(text), /[*`]/, `${language}: ${text}`);
      said += 1;
    }
  }
  assert.ok(said > 4000, `${said} sentences`);
});

test('a goal is no goal without a deed, nor with too many', () => {
  const lesson = core.Lesson.find('deadlock');
  assert.match(String(lesson?.attempt(2, {}).why), /Nothing has been done/);
  assert.match(String(lesson?.attempt(2, { set: { 'swarm.policy': 'adaptive', source_slots: 8 } }).why), /2 changes/);
  assert.match(String(lesson?.attempt(2, { set: { pieces: 1 } }).why), /may not be changed/);
});

test('a lesson that cannot be read says where', () => {
  assert.throws(() => core.Lesson.read('id = "x"\nview = 7\n'), /line 2, column 8: /);
  assert.equal(core.Lesson.find('none'), undefined);
});

/** German says all that English says: the same keys, the same arguments, and no sentence is left in English. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { clock } from '../../js/format.js';
import { de } from '../../js/strings/de.js';
import { en } from '../../js/strings/en.js';
import { routing } from '../../js/strings/routing.js';
import { swarm } from '../../js/strings/swarm.js';
import { unicast } from '../../js/strings/unicast.js';
import { speak, speakIn, t, storyOf } from '../../js/strings.js';
import { inNode } from '../digest.js';

/** @typedef {Record<string, string | ((a: any) => string)>} Sentences */

const stories = (/** @type {string} */ key) => key.startsWith('story.');
const PAIRS = /** @type {[string, Sentences, Sentences][]} */ ([
  ['page', en, Object.fromEntries(Object.entries(de.page).filter(([key]) => !stories(key)))],
  ['routing', routing, de.views.routing], ['unicast', unicast, de.views.unicast], ['swarm', swarm, de.views.swarm],
]);

/** What is the same in both: names, units, signs, and words that German has too. */
const SAME = /^(\W|\d|AQ|PARQ|passive?|Slots?|Server|Client|Clients|Download|Downloads|Live|Servent|Name|Routing|Synchron|Ring|Ping|Pong|Push|GUID|Firewall|Bytes|unicast3|HA|HS|ms|s|B|kB|MB|CLOSED?)*$/i;
/** Words of English that are none of German. */
const ENGLISH = /\b(the|and|of|is|are|it|its|with|from|to|by|for|that|this|has|have|not|which|who|what|when|nobody|somebody|asks?|gets?|place|line|piece|message|nothing)\b/i;

/** The arguments a sentence takes. @param {Sentences[string]} sentence */
const args = (sentence) => [...new Set([...String(sentence).matchAll(typeof sentence === 'string' ? /\{(\w+)\}/g : /\ba\.(\w+)/g)].map(([, arg]) => arg))].sort();
/** The words of a sentence: those of a function stand between its quotes. @param {Sentences[string]} sentence */
const words = (sentence) => (typeof sentence === 'string' ? sentence : String(sentence).replace(/\$\{[^`'}]*\}/g, ' ').match(/'[^']*'|`[^`]*`/g)?.join(' ') ?? '').replaceAll(/\$\{[^}]*\}|\b(from|to):|\b(a|block|b)\.\w+|===? '\w+'|„[^“]*“|\{\w+\}|\w+:…/g, ' ');

after(() => { speakIn(null); speak(); });

for (const [name, english, german] of PAIRS) {
  describe(name, () => {
    test('every sentence is there, and none that English has not', () => {
      assert.deepEqual(Object.keys(german).filter((key) => !(key in english)), []);
      assert.deepEqual(Object.keys(english).filter((key) => !(key in german)), []);
      assert.ok(Object.keys(english).length > 90);
    });

    test('each takes the arguments that English takes', () => {
      for (const [key, sentence] of Object.entries(english)) {
        // Who or what is meant may come through a helper: that is a matter of the case.
        const own = (/** @type {Sentences[string]} */ one) => args(one).filter((arg) => !['who', 'peer', 'side', 'kind'].includes(arg));
        assert.deepEqual(own(german[key]), own(sentence), key);
      }
    });

    test('no sentence is left in English', () => {
      for (const [key, sentence] of Object.entries(german)) {
        assert.doesNotMatch(words(sentence), ENGLISH, key);
        if (key !== 'tool.language' && typeof sentence === 'string') assert.ok(sentence !== english[key] || SAME.test(sentence), `${key}: ${sentence}`);
      }
    });
  });
}

test('every story has a title and a text in German', async () => {
  const core = /** @type {any} */ (await inNode());
  speakIn(de);
  speak();
  const ids = [];
  for (const view of ['queue', 'routing', 'unicast', 'swarm']) {
    for (const preset of core.World.presets(view)) {
      const { title, text } = storyOf(preset);
      ids.push(preset.id);
      assert.notEqual(title, preset.title, preset.id);
      assert.ok(text.length > 40 && text !== preset.text, preset.id);
      assert.doesNotMatch(`${title} ${text}`, ENGLISH, preset.id);
    }
  }
  assert.deepEqual(Object.keys(de.page).filter((key) => stories(key) && !key.endsWith('.text')).map((key) => key.slice(6)).sort(), ids.sort());
});

test('numbers have the decimals of the language', () => {
  speakIn(de);
  assert.equal(clock(18_250_000), '18,250 s');
  assert.equal(t('time.play'), 'Abspielen');
  speakIn(null);
  assert.equal(clock(18_250_000), '18.250 s');
  assert.equal(t('time.play'), 'Play');
  assert.equal(storyOf({ id: 'ring', title: 'A', text: 'B' }).title, 'A');
});

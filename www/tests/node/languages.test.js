/** Every other language says all that English says: the same keys, the same arguments, and no sentence is left in English. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { clock } from '../../js/format.js';
import { en } from '../../js/strings/en.js';
import { meet } from '../../js/strings/meet.js';
import { routing } from '../../js/strings/routing.js';
import { swarm } from '../../js/strings/swarm.js';
import { unicast } from '../../js/strings/unicast.js';
import { speak, speakIn, t, storyOf } from '../../js/strings.js';
import { inNode } from '../digest.js';
import { ENGLISH, TONGUES, quoteless } from '../tongues.js';

/** @typedef {Record<string, string | ((a: any) => string)>} Sentences */

const stories = (/** @type {string} */ key) => key.startsWith('story.');

/** What is the same in several: names, units, signs, and words that another language has too. */
const SAME = /^(\W|\d|AQ|PARQ|passive?|Slots?|Server|Client|Clients|Download|Downloads|Live|Servent|Name|Routing|Synchron|Ring|Ping|Pong|Push|GUID|Firewall|Bytes|unicast3|HA|HS|ms|s|B|kB|MB|CLOSED?)*$/i;
/** The same for one language. @type {Record<string, RegExp>} */
const SAME_IN = { de: SAME, es: /^Inspector$/, fr: /^(Source|Messages?|Pause|Date|Place|Branches|Attention|Retransmission)$/i };

/** The arguments a sentence takes. @param {Sentences[string]} sentence */
const args = (sentence) => [...new Set([...String(sentence).matchAll(typeof sentence === 'string' ? /\{(\w+)\}/g : /\ba\.(\w+)/g)].map(([, arg]) => arg))].sort();
/** The words of a sentence: those of a function stand between its quotes. @param {Sentences[string]} sentence */
const words = (sentence) => quoteless(typeof sentence === 'string' ? sentence : String(sentence).replace(/\$\{[^`'}]*\}/g, ' ').match(/'[^']*'|`[^`]*`/g)?.join(' ') ?? '').replaceAll(/\$\{[^}]*\}|\b(from|to):|\b(a|block|b)\.\w+|===? '\w+'|\{\w+\}|\w+:…/g, ' ');

after(() => { speakIn(null); speak(); });

for (const tongue of TONGUES) {
  const own = Object.fromEntries(Object.entries(tongue.page).filter(([key]) => !stories(key)));
  for (const [name, english, other] of /** @type {[string, Sentences, Sentences][]} */ ([['page', en, own], ['routing', routing, tongue.views.routing], ['unicast', unicast, tongue.views.unicast], ['swarm', swarm, tongue.views.swarm], ['meet', meet, tongue.views.meet]])) {
    describe(`${tongue.id}, ${name}`, () => {
      test('every sentence is there, and none that English has not', () => {
        assert.deepEqual(Object.keys(other).filter((key) => !(key in english)), []);
        assert.deepEqual(Object.keys(english).filter((key) => !(key in other)), []);
        assert.ok(Object.keys(english).length > 90);
      });

      test('each takes the arguments that English takes', () => {
        for (const [key, sentence] of Object.entries(english)) {
          // Who or what is meant may come through a helper: that is a matter of the case.
          const taken = (/** @type {Sentences[string]} */ one) => args(one).filter((arg) => !['who', 'peer', 'side', 'kind'].includes(arg));
          assert.deepEqual(taken(other[key]), taken(sentence), key);
        }
      });

      test('no sentence is left in English', () => {
        for (const [key, sentence] of Object.entries(other)) {
          assert.doesNotMatch(words(sentence), ENGLISH[tongue.id], key);
          if (typeof sentence === 'string') assert.ok(sentence !== english[key] || SAME.test(sentence) || SAME_IN[tongue.id].test(sentence), `${key}: ${sentence}`);
        }
      });
    });
  }

  test(`every story has a title and a text, ${tongue.id}`, async () => {
    const core = /** @type {any} */ (await inNode());
    speakIn(tongue);
    speak();
    const ids = [];
    for (const view of ['queue', 'routing', 'unicast', 'swarm', 'meet']) {
      for (const preset of core.World.presets(view)) {
        const { title, text } = storyOf(preset);
        ids.push(preset.id);
        assert.notEqual(title, preset.title, preset.id);
        assert.ok(text.length > 40 && text !== preset.text, preset.id);
        assert.doesNotMatch(`${title} ${text}`, ENGLISH[tongue.id], preset.id);
      }
    }
    assert.deepEqual(Object.keys(tongue.page).filter((key) => stories(key) && !key.endsWith('.text')).map((key) => key.slice(6)).sort(), ids.sort());
  });
}

test('numbers have the decimals of the language, and its plurals', () => {
  for (const [tongue, play, events] of /** @type {const} */ ([['de', 'Abspielen', '0 Ereignisse'], ['es', 'Reproducir', '0 sucesos'], ['fr', 'Lecture', '0 événement']])) {
    speakIn(TONGUES.find(({ id }) => id === tongue) ?? null);
    assert.equal(clock(18_250_000), '18,250 s');
    assert.equal(t('time.play'), play);
    assert.equal(t('events.shown', { n: 0 }), events);
  }
  speakIn(null);
  assert.equal(clock(18_250_000), '18.250 s');
  assert.equal(t('time.play'), 'Play');
  assert.equal(storyOf({ id: 'ring', title: 'A', text: 'B' }).title, 'A');
});

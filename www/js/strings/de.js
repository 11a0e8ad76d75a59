/** The page in German: the sentences of all, and those of each view. */
import { events } from '#lab/strings/de/events.js';
import { lesson } from '#lab/strings/de/lesson.js';
import { meet } from '#lab/strings/de/meet.js';
import { page } from '#lab/strings/de/page.js';
import { peer } from '#lab/strings/de/peer.js';
import { routing } from '#lab/strings/de/routing.js';
import { stories } from '#lab/strings/de/stories.js';
import { swarm } from '#lab/strings/de/swarm.js';
import { unicast } from '#lab/strings/de/unicast.js';
import { whatif } from '#lab/strings/de/whatif.js';

/** @type {import('#lab/strings.js').Tongue} */
export const de = { id: 'de', decimal: ',', page: { ...page, ...events, ...lesson, ...peer, ...stories, ...whatif }, views: { routing, unicast, swarm, meet } };

/** The page in French: the sentences of all, and those of each view. */
import { events } from '#lab/strings/fr/events.js';
import { lesson } from '#lab/strings/fr/lesson.js';
import { meet } from '#lab/strings/fr/meet.js';
import { page } from '#lab/strings/fr/page.js';
import { peer } from '#lab/strings/fr/peer.js';
import { routing } from '#lab/strings/fr/routing.js';
import { stories } from '#lab/strings/fr/stories.js';
import { swarm } from '#lab/strings/fr/swarm.js';
import { unicast } from '#lab/strings/fr/unicast.js';
import { whatif } from '#lab/strings/fr/whatif.js';

/** @type {import('#lab/strings.js').Tongue} */
export const fr = { id: 'fr', decimal: ',', page: { ...page, ...events, ...lesson, ...peer, ...stories, ...whatif }, views: { routing, unicast, swarm, meet } };

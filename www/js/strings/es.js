/** The page in Spanish: the sentences of all, and those of each view. */
import { events } from '#lab/strings/es/events.js';
import { lesson } from '#lab/strings/es/lesson.js';
import { meet } from '#lab/strings/es/meet.js';
import { page } from '#lab/strings/es/page.js';
import { peer } from '#lab/strings/es/peer.js';
import { routing } from '#lab/strings/es/routing.js';
import { stories } from '#lab/strings/es/stories.js';
import { swarm } from '#lab/strings/es/swarm.js';
import { unicast } from '#lab/strings/es/unicast.js';
import { whatif } from '#lab/strings/es/whatif.js';

/** @type {import('#lab/strings.js').Tongue} */
export const es = { id: 'es', decimal: ',', page: { ...page, ...events, ...lesson, ...peer, ...stories, ...whatif }, views: { routing, unicast, swarm, meet } };

// What the core gives, and what only this view knows.
import type { Arrow } from '#servent';
export type * from '../types';

export type Block = Arrow['blocks'][number];

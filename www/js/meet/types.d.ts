// What the core gives, and what only this view knows.
import type { MeetNodeView } from '#servent';
export type * from '../types';

export type PersonView = Extract<MeetNodeView, { kind: 'person' }>;
export type RouterView = Extract<MeetNodeView, { kind: 'router' }>;

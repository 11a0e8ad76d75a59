// What the core gives, and what only this view knows.
export type * from '../types';

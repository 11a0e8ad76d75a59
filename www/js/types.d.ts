// What the core gives, and what only the page knows. The core's types are
// generated with its module.
import type { AnyEvent, Card, Dialect, NamedRecord } from '#servent';
export type * from '#servent';

export type Mode = 'single' | 'compare' | 'events';
export type LaneName = Card['lane'];
export type DialectName = Dialect;
export type LabRecord = NamedRecord<AnyEvent>;
/** What is selected. `lane`: which of two runs it is in; `arrow`: a datagram; `transfer`: a piece on its way; `links`: those of a network that a line crosses. */
export interface Selection { node: number | null; ticket: string | null; name: string; lane?: number; arrow?: number; transfer?: number; links?: number[] }

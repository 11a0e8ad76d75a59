// What the core gives, and what only this view knows.
import type { Habit } from '#servent';
export type * from '../types';

/** A client as the picture has it. `right` is what it may download, `taken` what it has, both with what is on its way. */
export interface Row {
  name: string; role: Habit; up: boolean; came: boolean; active: boolean; firewalled: boolean; have: number; wanted: number;
  given: number; taken: number; right: number; credit: number; grants: number; free: boolean; stalled: number | null; waits: number;
  rate: number; receiving: number; sending: number; failures: number; quarantined: boolean; whole: boolean; halted: boolean;
}
/** A piece on its way; `share` of it is there. The giver is a row, or the source. */
export interface Transfer { id: number; giver: number; taker: number; piece: number; at: number; begun: number; ends: number; share: number; put: boolean; state: number }

// Shapes of what the class `Swarm` answers. The core is the only source of these.
import type { RawRun } from '../types';
export type { LabRecord, Fault, Preset, Selection, BranchInfo } from '../types';

export type Habit = 'honest' | 'free_rider' | 'corrupt' | 'liar' | 'silent';
export type Policy = 'seed2004' | 'adaptive';
export interface SwarmNode { id: number; name: string; role: Habit | 'coordinator'; up: boolean }

/** A client as the picture has it. `right` is what it may download, `taken` what it has, both with what is on its way. */
export interface Row {
  name: string; role: Habit; up: boolean; came: boolean; active: boolean; firewalled: boolean; have: number; wanted: number;
  given: number; taken: number; right: number; credit: number; grants: number; free: boolean; stalled: number | null; waits: number;
  rate: number; receiving: number; sending: number; failures: number; quarantined: boolean; whole: boolean; halted: boolean;
}
/** A piece on its way; `share` of it is there. The giver is a row, or the source. */
export interface Transfer { id: number; giver: number; taker: number; piece: number; at: number; begun: number; ends: number; share: number; put: boolean; state: number }

export interface FunnelStep { key: string; count: number; id: string; clause: string }
export interface Funnel {
  transfer: number; giver: number; taker: number; piece: number; at: number; why: string; led: 'taker' | 'giver' | 'source'; charged: boolean;
  steps: FunnelStep[]; chosen: { key: string; id: string; clause: string; name: string };
}
export interface Counters {
  assigned: number; from_source: number; arrived: number; arrived_from_source: number; failed: number; grants: number; sent: number; heard: number;
  ratio: number; source_copies: number; messages_per_piece: number; stalled: number; quarantined: number; whole: number; wanting: number;
}
export interface Outcome { finished: boolean; at: number | null; bound: number; ratio: number; whole: number; wanting: number; source_copies: number; messages: number; deadlocked: number | null }

export interface Group {
  count: number; up: number; down: number; latency: number; passive: boolean; firewalled: boolean; nat: boolean; habit: Habit;
  first: number; spacing: number; [field: string]: unknown;
}
export interface SwarmScenario {
  id: string; title: string; text: string; seed: number; horizon: number; pieces: number; chunk: number; source_slots: number; source_up: number;
  swarm: { policy: Policy; ratio: number; rarest: boolean; [field: string]: unknown }; clients: Group[]; faults: any[]; variants: { name: string; policy: Policy }[];
}
/** The class `Swarm` of `servent_swarm.js`. */
export interface RawSwarm extends RawRun {
  size(): Uint32Array; changes(): number; cells(): Uint8Array; rows(from: number, count: number): Float64Array; clients(from: number, count: number): string;
  transfers(): Float64Array; rarity(): Uint32Array; counters(): string; funnel(transfer: number): string;
  progress(bins: number): Float64Array; bound(): number; outcome(): string;
}

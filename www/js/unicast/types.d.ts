// Shapes of what the class `Unicast` answers. The core is the only source of these.
import type { RawRun } from '../types';
export type { LabRecord, Fault, Preset, Selection, BranchInfo } from '../types';

export interface UnicastNode { id: number; name: string; role: 'sender' | 'receiver' | 'both'; profile: string; up: boolean }

export interface DataBlock { conn: string; from: number; to: number; first: boolean; again: null | 'tail' | 'missing' | 'first' }
export interface AckBlock { conn: string; upto: number; newest: number; wanted: [number, number][]; missing: number; messages: number; bytes: number }
export interface Block {
  data?: DataBlock; ack?: AckBlock; request?: { conn: string };
  close?: { conn: string; last: number; abandoned: boolean }; closed?: { conn: string; upto: number }; probe?: { conn: string; sent: number };
}
/** A datagram on its way, or what became of it. */
export interface Arrow {
  id: number; n: number; seq: number; from: number; to: number;
  sent: number; due: number; at: number | null; fate: 'arrived' | 'lost' | 'flying';
  why: null | 'drop' | 'chance' | 'burst' | 'queue' | 'mtu' | 'cut' | 'down' | 'delay';
  copy_of: number | null; again: boolean; bytes: number; blocks: Block[];
}
export interface Mark { at: number; seq: number; node: number; kind: string; conn: string | null; peer: number | null; [field: string]: unknown }

export interface SenderMargin { conn: string; state: 'open' | 'closing'; ha: number; hs: number; last: number; limit: number; kept_bytes: number; flight_bytes: number }
export interface ReceiverMargin {
  conn: string; state: 'open' | 'closing'; next: number; newest: number; window: { from: number; bits: string };
  missing: [number, number][]; missing_count: number; held_bytes: number; untaken_messages: number; untaken_bytes: number;
}
export interface PeerMargin { peer: number; name: string; rtt: number; rto: number; sender: SenderMargin | null; receiver: ReceiverMargin | null }
export interface Margins { node: number; up: boolean; peers: PeerMargin[] }

export interface Ratio extends Array<number> { 0: number; 1: number }
export interface Link {
  latency: number; jitter: number; loss: Ratio; burst: null | { enter: Ratio; leave: Ratio; loss: Ratio };
  duplicate: Ratio; reorder: Ratio; late: number; mtu: number; rate: number; queue: number;
}
export interface UnicastScenario {
  id: string; title: string; text: string; seed: number; horizon: number; profile: string; nodes: { name: string }[];
  config: Record<string, unknown>; link: Link; ways: unknown[]; script: any[]; faults: any[]; variants: { name: string; profile: string }[];
}
/** The class `Unicast` of `servent_unicast.js`. */
export interface RawUnicast extends RawRun {
  arrows(from: number, to: number, max: number): string;
  marks(from: number, to: number, max: number): string;
  margins(node: number): string;
}

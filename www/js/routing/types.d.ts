// Shapes of what the class `Map` answers. The core is the only source of these.
import type { RawRun } from '../types';
export type { LabRecord, Fault, Preset, Selection, BranchInfo, NodeInfo } from '../types';

export interface RoutingNode { id: number; name: string; role: 'plain' | 'shares' | 'asks' | 'both' | 'floods' | 'twin'; up: boolean }

/** A search, or a push. */
export interface Search {
  guid: number; id: string; kind: 'query' | 'push'; node: number; name: string; words: string; of: number | null;
  at: number; seq: number; messages: number; duplicates: number; reached: number; hits: number; by_flood: boolean;
}
export interface TableOf { table: string; life: number; young: number; old: number; turns: number | null; bytes: number }
export interface TableRow {
  kind: 'query' | 'servent' | 'push'; guid: number | null; id: string; words: string | null; via: number | null; name: string | null;
  gone: boolean; born_at: number; expires_at: number; generation: 'young' | 'old';
}
export interface Tables { at: number; up: boolean; total: number; life: { query: number; push: number; duplicate: number }; tables: TableOf[]; rows: TableRow[] }
export interface Counters { sent: number; arrived: number; useful: number; duplicate: number; dropped: number; lost: number; flying: number; reasons: [string, number][] }

export type Shape = 'ring' | 'star' | 'mesh' | 'random' | 'small_world' | 'free';
export interface RoutingScenario {
  id: string; title: string; text: string; seed: number; horizon: number; nodes: number; shape: Shape; degree: number; shortcuts: number;
  latency: number; spread: number; pings: boolean; config: Record<string, any>; churn: unknown; script: any[]; faults: any[]; [field: string]: unknown;
}
/** The class `Map` of `servent_map.js`. */
export interface RawRouting extends RawRun {
  links(): Uint32Array; linksVersion(): number; latencies(): Float64Array; up(): Uint8Array;
  flights(from: number, to: number, most: number): Float64Array;
  searches(): string; guidHex(n: number): string;
  tables(node: number, from: number, count: number): string; counters(node: number): string;
}

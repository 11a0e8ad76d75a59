// Shapes of what the core answers. The core is the only source of these.

export type DialectName = 'active' | 'parq' | 'parq11' | 'passive';
export type Mode = 'single' | 'compare' | 'events';
export type LaneName = 'sync' | 'async' | 'grace';

export interface NodeInfo { id: number; name: string; role: string; dialect: DialectName; up: boolean }

export interface Card {
  ticket: string; peer: string; dialect: DialectName; file: string; lane: LaneName;
  position: number; told: number; told_at: number; not_before: number; deadline: number;
  eta: number | null; present: boolean; conn: number | null; breaks: number;
}
export interface SlotCard {
  ticket: string; peer: string; dialect: DialectName; file: string; conn: number | null;
  start: number; end: number; sent: number; since: number; reserved_until: number | null;
}
export interface Kept { ticket: string; peer: string; position: number; not_before: number; open_at: number; until: number }
export interface QueueView {
  slots: number; free: number; length: number; capacity: number;
  uploads: SlotCard[]; from: number; cards: Card[]; kept: Kept[];
}
export interface SourceView { at: string; state: string; position: number | null; length: number | null; ask_at: number | null; deadline: number | null; eta: number | null }
export interface FetchView { fetch: number; name: string; size: number | null; have: number; sources: SourceView[]; state: string }
export interface ClientView { node: number; name: string; dialect: DialectName; peer: string; fetch: FetchView | null }
export interface Tally { absent: number; waiting: number; queued: number; receiving: number; done: number; failed: number }
export interface QueueState {
  at: number; queue: QueueView; clients: ClientView[];
  tally: Tally; done: { node: number; name: string }[]; lanes?: Record<LaneName|'beyond', number>;
}
export interface EventBody { what: string; [field: string]: unknown }
export interface LabRecord {
  seq: number; at: number; node: number; cause: number | null;
  event: Record<string, EventBody>; node_name: string; who?: string | null;
}
export interface Why { key: string; args: Record<string, unknown>; id: string | null; clause: string | null; cause: number | null }
export interface Change { path: string; before: unknown; after: unknown }
export interface Pin { at: number; seq: number; kind: 'fault' | 'violation'; key: string; args: Record<string, unknown> }
export interface BranchInfo { id: number; parent: number | null; at: number; name: string }
export interface Verified { checked: number; total: number; diverged_at: number | null; text?: string }
export interface Preset { id: string; title: string; text: string; scenario: Scenario }
/** `lane`: which of two runs it is in; `arrow`: a datagram; `transfer`: a piece on its way. */
export interface Selection { node: number | null; ticket: string | null; name: string; lane?: number; arrow?: number; transfer?: number }
export type Fault = { [name: string]: any };

export interface ScenarioServer { name: string; queue: Record<string, number>; up: number; latency: number; corrupt: boolean }
export interface ScenarioGroup {
  name: string; count: number; dialect: DialectName; size: number; down: number; up: number; latency: number;
  first: number; spacing: number; jitter: number; callable: boolean; firewalled: boolean; servers: number[];
}
export interface Variant { name: string; dialect: DialectName }
export interface Scenario {
  id: string; title: string; text: string; seed: number; horizon: number;
  servers: ScenarioServer[]; clients: ScenarioGroup[]; faults: (Fault & { at: number })[]; variants: Variant[];
}

/** What the classes of all modules answer. Structured answers are JSON text. */
export interface RawRun {
  kind(): string; version(): string; scenario(): string;
  horizon(): number; frontier(): number; explore(maxEvents: number): boolean;
  now(): number; index(): number; count(): number;
  advance(us: number, maxEvents: number): number;
  seek(us: number): void; seekEvent(i: number): void; step(by: number): void; stepNode(node: number, by: number): void;
  nodes(): string; inspect(node: number): string; diff(node: number): string;
  record(i: number): string; records(from: number, count: number, filter: string): string; why(i: number): string;
  density(bins: number): Uint32Array; pins(): string;
  fault(json: string): number; branches(): string; useBranch(id: number): void; divergence(a: number, b: number): number | null | undefined;
  digest(): string; verified(): string; exportSqlog(): Uint8Array; free(): void;
}
/** The class `Lab` of `servent_queue.js`. */
export interface RawLab extends RawRun {
  board(node: number, from: number, count: number): string;
  lanes(node: number, sync: number, async: number, grace: number, count: number): string;
  exportPcapng(): Uint8Array; append(bytes: Uint8Array): void;
}
export interface TapeGlue {
  Tape: { world(bytes: Uint8Array): string | undefined; fromTrace(bytes: Uint8Array): RawLab };
}
export interface Glue {
  default(input?: unknown): Promise<unknown>;
  Lab: { presets(): string; fromScenario(json: string): RawLab; fromWorld(json: string): RawLab };
}

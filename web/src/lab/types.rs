//! Names of values in the classes' interfaces, where several would do.

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** An object with one of these entries. */
export type OneOf<T> = { [K in keyof T]: Pick<T, K> & { [O in Exclude<keyof T, K>]?: undefined } }[keyof T];
/** What a world is made of. */
export type Scenario = QueueScenario | RoutingScenario | UnicastScenario | SwarmScenario | MeetScenario;
/** The file of a simulated world: of which class, what it was made of, what it came to. */
export type WorldFile = { claim: Checkpoint | null } & (
  | { protocol: 'queue'; scenario: QueueScenario }
  | { protocol: 'routing'; scenario: RoutingScenario }
  | { protocol: 'unicast'; scenario: UnicastScenario }
  | { protocol: 'swarm'; scenario: SwarmScenario }
  | { protocol: 'meet'; scenario: MeetScenario }
);
/** What can be done to a world; without `at` in a run, at its cursor. */
export type AnyFault =
  | Partial<At<Fault>> | Partial<At<RoutingAction>> | Partial<At<UnicastAction>> | Partial<At<SwarmAction>> | Partial<At<MeetAction>> | Partial<At<TapeAct>>;
/** What can be asked of a recording: what if what led to a record had not been, or had come later. A datagram is named as in a simulation. */
export type TapeAct = OneOf<{ lose: { record: number }, late: { record: number, by: number } }>;
/** What is shown of a node. */
export type NodeState = NodeView | RouterView | Margins | SwarmClientView | CoordinatorView | MeetNodeView;
/** What happened: the area, and in it `what`. */
export type AnyEvent = Record<string, { what: string, [field: string]: any }>;
"#;

//! The class behind a queue board: what the page may ask, whatever answers.

/// Declares a class for the page. A simulated world and a recorded one are
/// modules of their own, so that each is loaded only where it is needed, but
/// the page asks both the same.
macro_rules! board_class {
    ($(#[$about:meta])* $class:ident over $inner:ty) => {
        $(#[$about])*
        #[wasm_bindgen::prelude::wasm_bindgen]
        pub struct $class {
            inner: $inner,
        }

        #[wasm_bindgen::prelude::wasm_bindgen]
        impl $class {
            /// `scenario` or `trace`.
            #[must_use]
            pub fn kind(&self) -> String {
                String::from(<$inner>::KIND)
            }

            /// The core's version.
            #[must_use]
            pub fn version(&self) -> String {
                String::from(env!("CARGO_PKG_VERSION"))
            }

            /// The scenario, with the faults of the current branch; `null` for
            /// a trace.
            #[must_use]
            pub fn scenario(&self) -> String {
                self.inner.scenario()
            }

            /// Where the timeline ends.
            #[must_use]
            pub fn horizon(&self) -> f64 {
                $crate::common::us(self.inner.horizon())
            }

            /// How far it is known.
            #[must_use]
            pub fn frontier(&self) -> f64 {
                $crate::common::us(self.inner.frontier())
            }

            /// Runs the frontier on; true when the horizon is reached.
            pub fn explore(&mut self, max_events: u32) -> bool {
                self.inner.explore(max_events.into())
            }

            /// The cursor's instant.
            #[must_use]
            pub fn now(&self) -> f64 {
                $crate::common::us(self.inner.now())
            }

            /// Records up to the cursor.
            #[must_use]
            pub fn index(&self) -> u32 {
                self.inner.index()
            }

            /// Records known.
            #[must_use]
            pub fn count(&self) -> u32 {
                self.inner.count()
            }

            /// Goes on to an instant, at most so many events; the instant
            /// reached.
            pub fn advance(&mut self, to: f64, max_events: u32) -> f64 {
                $crate::common::us(self.inner.advance($crate::common::instant(to), max_events.into()))
            }

            /// Goes to an instant.
            pub fn seek(&mut self, to: f64) {
                self.inner.seek($crate::common::instant(to));
            }

            /// Goes to just after record `i`.
            #[wasm_bindgen(js_name = seekEvent)]
            pub fn seek_event(&mut self, i: u32) -> bool {
                self.inner.seek_record(i)
            }

            /// One record on, or back.
            pub fn step(&mut self, by: i32) -> bool {
                self.inner.step(by > 0)
            }

            /// One record of one node on, or back.
            #[wasm_bindgen(js_name = stepNode)]
            pub fn step_node(&mut self, node: u32, by: i32) -> bool {
                self.inner.step_node(node, by > 0)
            }

            /// `[{id, name, role, dialect, up}]`.
            #[must_use]
            pub fn nodes(&self) -> String {
                self.inner.nodes()
            }

            /// `{at, queue, clients, tally, done}`.
            #[must_use]
            pub fn board(&self, node: u32, from: u32, count: u32) -> String {
                let part = $crate::board::Part::Positions(from, count);
                $crate::common::json(&self.inner.board(node, part))
            }

            /// The same with `lanes`, the totals of the lanes, and as cards a
            /// window of each lane, of so many cards: which is the first,
            /// counted from 0.
            #[must_use]
            pub fn lanes(
                &self,
                node: u32,
                sync: u32,
                asynchronous: u32,
                grace: u32,
                count: u32,
            ) -> String {
                let part = $crate::board::lanes([sync, asynchronous, grace], count);
                $crate::common::json(&self.inner.board(node, part))
            }

            /// A node's state; `null` while it is down.
            #[must_use]
            pub fn inspect(&self, node: u32) -> String {
                self.inner.inspect(node)
            }

            /// `[{path, before, after}]` against one record earlier.
            #[must_use]
            pub fn diff(&self, node: u32) -> String {
                self.inner.diff(node)
            }

            /// A record with names; `null` when there is none.
            #[must_use]
            pub fn record(&self, i: u32) -> String {
                let named = self.inner.named(i);
                named.map_or_else(|| String::from("null"), |named| named.json())
            }

            /// Records from the `from`th on, at most so many, that fit a
            /// filter.
            #[must_use]
            pub fn records(&self, from: u32, count: u32, filter: &str) -> String {
                $crate::common::listed(filter, count, from, &|i| self.inner.named(i))
            }

            /// `{key, args, id, clause, cause}`; `null` when there is no such
            /// record.
            #[must_use]
            pub fn why(&self, i: u32) -> String {
                let why = |named: $crate::common::NamedRecord<'_>| {
                    servent_core::trace::why::of_event(&named.event, named.cause)
                };
                $crate::common::json(&self.inner.named(i).map(why))
            }

            /// Records per bin, from the beginning to the horizon.
            pub fn density(&mut self, bins: u32) -> Vec<u32> {
                self.inner.density(bins)
            }

            /// `[{at, seq, kind, key, args}]`.
            pub fn pins(&mut self) -> String {
                $crate::common::json(&self.inner.pins())
            }

            /// A fault now; the branch it is in.
            ///
            /// # Errors
            /// When it is no fault, names no node, or this is a trace.
            pub fn fault(&mut self, json: &str) -> Result<u32, wasm_bindgen::JsError> {
                self.inner.fault(json).map_err(|why| wasm_bindgen::JsError::new(&why))
            }

            /// `[{id, parent, at, name}]`.
            #[must_use]
            pub fn branches(&self) -> String {
                self.inner.branches()
            }

            /// Looks at another branch at the same instant.
            #[wasm_bindgen(js_name = useBranch)]
            pub fn use_branch(&mut self, id: u32) -> bool {
                self.inner.use_branch(id)
            }

            /// The first record in which two branches differ.
            #[must_use]
            pub fn divergence(&self, a: u32, b: u32) -> Option<u32> {
                self.inner.divergence(a, b)
            }

            /// The fingerprint of everything up to the cursor, 16 hexadecimal
            /// digits.
            #[must_use]
            pub fn digest(&self) -> String {
                format!("{:016x}", self.inner.digest())
            }

            /// `{checked, total, diverged_at, text}`.
            #[must_use]
            pub fn verified(&self) -> String {
                $crate::common::json(&self.inner.verified())
            }

            /// The current branch, or the trace, as a `.sqlog` file.
            #[wasm_bindgen(js_name = exportSqlog)]
            #[must_use]
            pub fn export_sqlog(&self) -> Vec<u8> {
                self.inner.sqlog().into_bytes()
            }
        }
    };
}

pub(crate) use board_class;

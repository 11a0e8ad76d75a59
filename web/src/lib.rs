//! The core in the browser, one module a view.
//!
//! Each view of the page is a feature of this crate and a class of its own, and
//! so is the reading of recorded traces. `cargo xtask page` builds the crate
//! once per feature, so that the page loads nothing but what it needs.
//! Structured answers are JSON text; instants are microseconds.

/// A module is a kilobyte and a half lighter than with the default one, and as
/// fast.
#[cfg(target_family = "wasm")]
#[global_allocator]
static MEMORY: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

mod common;
#[cfg(feature = "ladder")]
mod ladder;
#[cfg(feature = "map")]
mod map;
#[cfg(feature = "matrix")]
mod matrix;

#[cfg(any(feature = "queue", feature = "trace"))]
mod board;
#[cfg(feature = "queue")]
mod queue;
#[cfg(feature = "trace")]
mod trace;

#[cfg(feature = "ladder")]
pub use ladder::Ladder;
#[cfg(feature = "map")]
pub use map::Map;
#[cfg(feature = "matrix")]
pub use matrix::Matrix;
#[cfg(feature = "queue")]
pub use queue::Lab;
#[cfg(feature = "trace")]
pub use trace::Tape;

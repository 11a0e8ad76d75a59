//! Worlds of routers: which people find a path, and what the oracles say (PA-17).

mod digests;
mod oracles;
mod pairs;
mod presets;

//! Our place in a line at somebody else's server, in either dialect.

mod config;

pub use self::config::Config;

//! Heads of HTTP requests and responses.

//! Who gets an upload slot, and who waits how long.

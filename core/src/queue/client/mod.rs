//! Our place in somebody else's line.

//! The headers of Active Queueing and PARQ, and the `QUEUE` and `GIV` lines.

//! File descriptors: raises the limit as far as the system allows, and says how
//! many connections that leaves.

use crate::sys::raise_open_files;

/// Connections of the lab at one time.
pub const LAB_CONNECTIONS: u32 = 64;
/// Connections that wait for one of those, and those for health checks.
pub const LAB_WAITING: u32 = 128;
/// Descriptors reserved for everything other than the node's connections: the
/// store, the trace, listeners, the lab, the runtime.
const RESERVED: u64 = 96 + (LAB_CONNECTIONS + LAB_WAITING) as u64;
/// No more connections than this, whatever the system allows.
const MOST: u64 = 1 << 20;

/// The process's limit of open files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    /// The limit in force now.
    pub limit: u64,
}

impl Descriptors {
    /// Connections that fit, if each of `files` transfers also has a file open.
    #[must_use]
    pub fn connections(self, files: u32) -> u32 {
        let left = self.limit.saturating_sub(RESERVED).saturating_sub(u64::from(files));
        u32::try_from(left.clamp(8, MOST)).unwrap_or(u32::MAX)
    }
}

/// Raises the limit of open descriptors as far as possible without privileges.
pub fn raise_descriptors() -> Descriptors {
    Descriptors { limit: raise_open_files().unwrap_or(MOST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_files_and_ourselves() {
        assert_eq!(Descriptors { limit: 1_024 }.connections(4), 1_024 - 288 - 4);
        assert_eq!(Descriptors { limit: 50 }.connections(4), 8);
        assert_eq!(Descriptors { limit: u64::MAX }.connections(4), 1 << 20);
    }
}

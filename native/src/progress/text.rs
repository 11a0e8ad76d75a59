//! Numbers as people read them.

use servent_core::text::Size;

/// Bytes in binary units, three digits.
pub(crate) fn bytes(n: u64) -> String {
    Size(n).to_string()
}

/// Bytes as a user types an amount of them: `2 MB` for `2M`, `1500 kB` for `1500k`.
pub(crate) fn decimal(n: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match units.iter().find(|(unit, _)| n >= *unit && n.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", n / unit),
        None => format!("{n} bytes"),
    }
}

/// Bytes per second.
pub(crate) fn rate(per_second: u64) -> String {
    format!("{}/s", bytes(per_second))
}

/// A number of things: `1 file`, `2 files`.
pub(crate) fn count(n: u64, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

/// A duration in seconds: `42 s`, `3 min 05 s`, `2 h 10 min`.
pub(crate) fn length(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(bytes(1_023), "1023 B");
        assert_eq!(bytes(1_536), "1.5 KiB");
        assert_eq!(bytes(3_000_000), "2.9 MiB");
        assert_eq!(bytes(200 * 1024 * 1024), "200 MiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(bytes(1_048_575), "1024 KiB");
        assert_eq!((count(0, "file"), count(1, "file")), ("0 files".into(), "1 file".into()));
        assert_eq!(
            [2_000_000, 500_000, 1_500_000, 7].map(decimal),
            ["2 MB", "500 kB", "1500 kB", "7 bytes"]
        );
        assert_eq!(length(185), "3 min 05 s");
        assert_eq!(length(7_800), "2 h 10 min");
    }
}

//! Numbers as people read them.

use core::fmt;

/// A number of bytes for people: in binary units, rounded, three digits.
#[derive(Debug, Clone, Copy)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let (mut unit, mut shift) = (0, 0);
        while self.0 >> shift >= 1_024 && unit < UNITS.len() {
            (unit, shift) = (unit + 1, shift + 10);
        }
        let Some(name) = unit.checked_sub(1).map(|unit| UNITS[unit]) else {
            return write!(f, "{} B", self.0);
        };
        let tenths = ((self.0 >> (shift - 10)) * 10 + 512) >> 10;
        match tenths {
            0..1_000 => write!(f, "{}.{} {name}", tenths / 10, tenths % 10),
            _ => write!(f, "{} {name}", (tenths + 5) / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        let says = |n: u64, text: &str| assert_eq!(Size(n).to_string(), text);
        says(0, "0 B");
        says(1_023, "1023 B");
        says(1_536, "1.5 KiB");
        says(102_348, "99.9 KiB");
        says(102_349, "100 KiB");
        says(1_048_575, "1024 KiB");
        says(3_000_000, "2.9 MiB");
        says(200 << 20, "200 MiB");
        says(u64::MAX, "16.0 EiB");
    }
}

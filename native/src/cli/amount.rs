//! Numbers as people write them; amounts of bytes as `500000`, `500k`, `2M`, `1G`.

use std::str::FromStr;

use crate::config::units::amount;

/// A number of things: of none nothing would happen.
pub(super) fn some<N: FromStr + PartialEq + Default>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number != N::default());
    number.ok_or_else(|| String::from("a whole number of 1 or more is needed"))
}

/// Bytes per second; zero is not a rate.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    amount(text).ok().filter(|rate| *rate > 0).ok_or_else(|| {
        format!("`{text}` is no number of bytes a second such as 500000, 500k or 2M")
    })
}

/// Bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    amount(text).map_err(|_| format!("`{text}` is no number of bytes such as 500M or 2G"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        assert_eq!((rate("7"), rate("500k"), rate("2M")), (Ok(7), Ok(500_000), Ok(2_000_000)));
        assert!(rate("0").is_err() && rate("M").is_err() && rate("fast").is_err());
        assert_eq!((size("0"), size("3G")), (Ok(0), Ok(3_000_000_000)));
        assert_eq!((some::<u32>("3"), some::<u64>("7")), (Ok(3), Ok(7)));
        for none in ["0", "-1", "x", "4294967296"] {
            assert_eq!(some::<u32>(none), Err("a whole number of 1 or more is needed".into()));
        }
        assert!(size("3MM").is_err() && size("-1").is_err() && size("99999999999G").is_err());
    }
}

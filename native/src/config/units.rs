//! Durations as people write them: `250ms`, `30s`, `5m`, `1h`; and amounts: `500000`,
//! `500k`, `2M`, `1G`.

/// What comes before a unit of an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AmountError {
    /// It is no number.
    NoNumber,
    /// It is more than any setting can be.
    TooMuch,
}

/// An amount, such as one of bytes; `_` may stand between digits.
pub(crate) fn amount(text: &str) -> Result<u64, AmountError> {
    let digits = text.trim_end_matches(['k', 'K', 'M', 'G']);
    let unit = match &text[digits.len()..] {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return Err(AmountError::NoNumber),
    };
    let digits = digits.replace('_', "");
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(AmountError::NoNumber);
    }
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    number.ok_or(AmountError::TooMuch)
}

/// A duration in microseconds; a bare number means seconds.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "us" | "µs" => 1,
        "ms" => 1_000,
        "s" | "" => 1_000_000,
        "m" | "min" => 60_000_000,
        "h" => 3_600_000_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// The shortest exact way to write a duration in microseconds.
pub(crate) fn print(us: u64) -> String {
    let units = [(3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1_000, "ms")];
    if us == 0 {
        return "0s".to_owned();
    }
    // 90 s reads better than 1.5 m, and the specifications say 300 s.
    for (unit, name) in units {
        if us.is_multiple_of(unit) && (us / unit >= 10 || unit <= 1_000_000) {
            return format!("{}{name}", us / unit);
        }
    }
    format!("{us}us")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        for us in [0, 1, 1_500, 250_000, 1_000_000, 90_000_000, 300_000_000, 36_000_000_000] {
            assert_eq!(parse(&print(us)), Some(us), "{us}");
        }
        assert_eq!(print(300_000_000), "300s");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "s", "-3s", "3 weeks", "99999999999999999999h", "1.5s"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("5"), Some(5_000_000));
    }
}

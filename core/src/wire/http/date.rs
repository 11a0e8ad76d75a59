//! HTTP dates (RFC 9110 §5.6.7).

use core::fmt;

use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::Offset;

/// The format of RFC 850.
const RFC_850: &str = "%A, %d-%b-%y %H:%M:%S GMT";
/// The format of `asctime` in C.
const ASCTIME: &str = "%a %b %d %H:%M:%S %Y";

/// Whole seconds since the Unix epoch, the resolution of HTTP.
///
/// Written in the current format; read in the two older ones as well, as RFC 9110
/// requires of every recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpDate(u64);

impl HttpDate {
    /// So many seconds after the epoch.
    #[must_use]
    pub const fn from_unix(seconds: u64) -> Self {
        Self(seconds)
    }

    /// How many seconds after the epoch it is.
    #[must_use]
    pub const fn to_unix(self) -> u64 {
        self.0
    }

    /// Day and minute in UTC, as in tables: `1994-11-06 08:49`.
    #[must_use]
    pub fn day_and_time(self) -> impl fmt::Display {
        let latest = Timestamp::MAX.as_second();
        let second = i64::try_from(self.0).unwrap_or(latest).min(latest);
        let at = Timestamp::from_second(second).unwrap_or(Timestamp::MAX);
        at.strftime("%Y-%m-%d %H:%M")
    }

    /// Parses a date; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_ascii();
        let older = |format| {
            let parts = BrokenDownTime::parse(format, text).ok()?;
            Offset::UTC.to_timestamp(parts.to_datetime().ok()?).ok()
        };
        let at = DateTimeParser::new().parse_timestamp(text).ok();
        let at = at.or_else(|| older(RFC_850)).or_else(|| older(ASCTIME))?;
        u64::try_from(at.as_second()).ok().map(Self)
    }
}

impl fmt::Display for HttpDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Later dates than the format has are shown as the last one.
        let latest = Timestamp::MAX.as_second();
        let second = i64::try_from(self.0).unwrap_or(latest).min(latest);
        let at = Timestamp::from_second(second).map_err(|_| fmt::Error)?;
        let text = DateTimePrinter::new().timestamp_to_rfc9110_string(&at);
        f.write_str(&text.map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn a_date_is_written_and_read() {
        let date = HttpDate::from_unix(784_111_777);
        assert_eq!(date.to_string(), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(HttpDate::parse(" Sun, 06 Nov 1994 08:49:37 GMT"), Some(date));
        let end = HttpDate::from_unix(u64::MAX).to_string();
        assert!(end.contains("Dec 9999"), "{end}");
        assert_eq!(date.day_and_time().to_string(), "1994-11-06 08:49");
        for older in ["Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(HttpDate::parse(older), Some(date), "{older}");
        }
        let tenth = HttpDate::parse("Thu Nov 10 08:49:37 1994");
        assert_eq!(tenth, Some(HttpDate::from_unix(784_111_777 + 4 * 86_400)));
        let wrong = ["", "Sun, 31 Feb 1994 08:49:37 GMT", "x", "Sunday, 06-Nov-94 08:49:37 CET"];
        for wrong in wrong.into_iter().chain(["Mon Nov  6 08:49:37 1994", "Sun Nov 6 08:49 1994"]) {
            assert_eq!(HttpDate::parse(wrong), None, "{wrong}");
        }
    }
}

//! The media types a client accepts: `Accept` (RFC 9110 §12.5.1).

use super::Headers;
use crate::wire::scan::trim;

/// The quality value of a media type that a client names itself, in
/// thousandths; `None` when it does not. Ranges such as `*/*` do not count.
#[must_use]
pub(crate) fn weight(headers: &Headers, media: &str) -> Option<u16> {
    let each = headers.all("Accept").flat_map(|value| value.split(','));
    let named = each.filter_map(|item| {
        let mut parts = item.split(';');
        trim(parts.next()?).eq_ignore_ascii_case(media).then_some(parts)
    });
    named.map(quality).max()
}

/// The `q` among the parameters of a media type; 0 if it cannot be parsed.
fn quality<'a>(mut parameters: impl Iterator<Item = &'a str>) -> u16 {
    let value = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        trim(name).eq_ignore_ascii_case("q").then_some(trim(value))
    });
    value.and_then(thousandths).unwrap_or(1_000)
}

/// `0.5` is 500: at most three digits after the point, and at most 1 in total.
fn thousandths(value: &str) -> Option<u16> {
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    let digits = part.len() <= 3 && part.bytes().all(|b| b.is_ascii_digit());
    let part = part.bytes().chain(*b"000").take(3).fold(0, |n, b| n * 10 + u16::from(b & 0xf));
    match whole {
        "0" if digits => Some(part),
        "1" if digits && part == 0 => Some(1_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weigh(accept: &[&str]) -> Option<u16> {
        let mut headers = Headers::default();
        accept.iter().for_each(|value| headers.push("Accept", value));
        weight(&headers, "application/x-thing")
    }

    #[test]
    fn a_type_is_wanted_as_much_as_its_quality_says() {
        assert_eq!(weigh(&["application/x-thing"]), Some(1_000));
        assert_eq!(weigh(&["text/html, Application/X-Thing;q=0.25"]), Some(250));
        assert_eq!(weigh(&["text/html", "application/x-thing ; level=1 ; Q=0.5, */*"]), Some(500));
        assert_eq!(weigh(&["application/x-thing;q=0"]), Some(0));
        assert_eq!(weigh(&["application/x-thing;q=0.1, application/x-thing;q=0.9"]), Some(900));
        assert_eq!(weigh(&["application/x-thing;q=1.000"]), Some(1_000));
        for nonsense in ["2", "1.5", "-1", "0.1234", "x", ""] {
            assert_eq!(weigh(&[&alloc::format!("application/x-thing;q={nonsense}")]), Some(1_000));
        }
    }

    #[test]
    fn what_is_not_named_is_not_meant() {
        assert_eq!(weigh(&[]), None);
        assert_eq!(weigh(&["*/*"]), None);
        assert_eq!(weigh(&["application/*, application/x-things"]), None);
    }
}

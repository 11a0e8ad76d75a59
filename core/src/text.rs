//! Finding words in texts.

/// Where a word stands last in a text. The searcher of the standard library is
/// made for long texts, and three kilobytes of the page's module; ours are a
/// line long.
pub(crate) fn find_last(text: &str, word: &str) -> Option<usize> {
    let at = |i: &usize| text.as_bytes()[*i..].starts_with(word.as_bytes());
    (0..=text.len().checked_sub(word.len())?).rev().find(at)
}

/// True when a text has a word in it.
#[must_use]
pub fn holds(text: &str, word: &str) -> bool {
    find_last(text, word).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_as_the_standard_library_finds_them() {
        for text in ["", "a", "aab", "GET / HTTP/1 HTTP/1.1", "äöü"] {
            for word in ["", "a", "ab", " HTTP/", "ö", "GET / HTTP/1 HTTP/1.12"] {
                assert_eq!(find_last(text, word), text.rfind(word), "{text} {word}");
                assert_eq!(holds(text, word), text.contains(word), "{text} {word}");
            }
        }
    }
}

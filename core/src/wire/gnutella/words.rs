//! The words of queries and names: runs of letters and digits, in lower case.

use alloc::string::String;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Shorter words are ignored.
const SHORTEST: usize = 2;

/// The words of a text, in lower case.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= SHORTEST)
        .map(lower)
}

fn lower(word: &str) -> String {
    word.chars().flat_map(char::to_lowercase).collect()
}

/// A text in lower case without accents, as people type it: a search for `beyonce`
/// finds `Beyoncé`, however that is composed.
#[must_use]
pub fn fold(text: &str) -> String {
    let plain = text.nfkd().filter(|character| !is_combining_mark(*character));
    plain.flat_map(char::to_lowercase).collect()
}

/// True when every word of `criteria` is in `name`, whatever their accents;
/// criteria without words match nothing.
#[must_use]
pub fn matches(criteria: &str, name: &str) -> bool {
    let (criteria, name) = (fold(criteria), fold(name));
    let mut wanted = words(&criteria).peekable();
    wanted.peek().is_some() && wanted.all(|word| name.contains(word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_have_to_be_there_in_any_case() {
        assert!(matches("Gnutella PROTOCOL", "the_gnutella-Protocol.pdf"));
        assert!(!matches("gnutella video", "gnutella protocol.pdf"));
        assert!(matches("mp3", "Foobar.MP3"));
        assert!(!matches("a", "a b c") && !matches(" .,- ", "abc") && !matches("", "abc"));
        assert!(matches("ÜBER", "über allen gipfeln.txt"));
        for name in ["Beyoncé.ogg", "BEYONCE\u{301}.ogg", "beyonce.ogg"] {
            assert!(matches("beyonce", name) && matches("Beyoncé", name), "{name}");
        }
        assert!(!matches("beyonce", "beyond.ogg"));
        assert_eq!(fold("Ångström ﬁ ßø"), "angstrom fi ßø");
    }
}

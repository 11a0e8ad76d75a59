//! The words of queries and names: runs of letters and digits, in lower case.

use alloc::string::String;

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

/// True when every word of `criteria` is in `name`; criteria without words
/// match nothing.
#[must_use]
pub fn matches(criteria: &str, name: &str) -> bool {
    let name = lower(name);
    let mut wanted = words(criteria).peekable();
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
    }
}

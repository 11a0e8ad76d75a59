//! Fits a line of progress into the width of a terminal.

use console::{Term, measure_text_width};

/// The fewest columns that are left of a name.
const NAME: usize = 8;
/// The most columns of a name beside other text.
const LONGEST: usize = 32;

/// What stands before the time for which nothing has come, and the same for a narrow line.
pub(super) const STILL: [&str; 2] = ["waiting, nothing has moved for ", "nothing for "];

/// What a line says, the most important first: how much of it there is, how fast it
/// goes on and how long it takes, what it is, how many bytes, and other things.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProgressLine<'a> {
    pub(crate) name: &'a str,
    pub(crate) share: &'a str,
    pub(crate) amount: &'a str,
    pub(crate) speed: &'a str,
    pub(crate) others: &'a str,
}

/// The columns of the terminal.
pub(crate) fn columns() -> usize {
    Term::stderr().size_checked().map_or(80, |(_, columns)| usize::from(columns))
}

impl ProgressLine<'_> {
    /// The line for so many columns. A name is shortened in its middle; the amount
    /// goes first when there is no room for all, then some words of a line that waits.
    pub(crate) fn fit(&self, columns: usize) -> String {
        let Self { name, share, amount, speed, others } = *self;
        let whole = join(&[(amount, ", "), (speed, "; "), (others, "")]);
        let brief = join(&[(speed, "; "), (others, "")]);
        let [long, short] = STILL;
        let briefest = join(&[(&speed.replacen(long, short, 1), "; "), (others, "")]);
        let room = |rest: &str| {
            columns.saturating_sub(measure_text_width(share) + measure_text_width(rest) + 2)
        };
        let wanted = measure_text_width(name).min(LONGEST);
        let fits = |rest: &String| room(rest) >= wanted.min(NAME);
        let rest = [whole, brief].into_iter().find(fits).unwrap_or(briefest);
        let short = shorten(name, room(&rest).clamp(NAME, LONGEST));
        format!("{short} {share} {rest}").trim_end().to_owned()
    }
}

/// Those parts that are not empty, each with what stands between it and the next.
fn join(parts: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut between = "";
    for (part, behind) in parts.iter().filter(|(part, _)| !part.is_empty()) {
        text.push_str(between);
        text.push_str(part);
        between = behind;
    }
    text
}

/// A text of at most so many columns: its start and its end, which has the number
/// and the kind of a file.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    if measure_text_width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let start = prefix(text.chars(), room.div_ceil(2));
    let left = room - measure_text_width(&start);
    let end: String = prefix(text.chars().rev(), left).chars().rev().collect();
    format!("{start}…{end}")
}

/// As many characters as fit into so many columns.
fn prefix(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut text = String::new();
    for character in characters {
        text.push(character);
        if measure_text_width(&text) > columns {
            text.pop();
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_and_speed_stay_whatever_the_name_and_the_width() {
        let wide = "東京物語・第一部・完全版.mkv";
        let names = [wide, "song.ogg", &"ä".repeat(300), "a"];
        for name in names {
            for columns in [40, 60, 80, 110] {
                let line = ProgressLine {
                    name,
                    share: " 42 %",
                    amount: "1.2 MiB of 3.0 MiB",
                    speed: "800 KiB/s, 2 s left",
                    others: "",
                };
                let text = line.fit(columns);
                assert!(measure_text_width(&text) <= columns, "{columns}: {text}");
                assert!(text.contains(" 42 % ") && text.ends_with("800 KiB/s, 2 s left"), "{text}");
            }
        }
    }

    #[test]
    fn a_line_that_waits_says_for_how_long_whatever_the_width() {
        let speed = &format!("{}12 s", STILL[0]);
        let line = ProgressLine {
            name: "a long name (12).flac",
            share: " 44 %",
            amount: "3.8 MiB of 8.6 MiB",
            speed,
            others: "",
        };
        for (columns, rest) in [
            (80, "  44 % 3.8 MiB of 8.6 MiB, waiting, nothing has moved for 12 s"),
            (52, "  44 % waiting, nothing has moved for 12 s"),
            (40, "  44 % nothing for 12 s"),
        ] {
            let text = line.fit(columns);
            assert!(text.ends_with(rest), "{columns}: {text}");
            assert!(measure_text_width(&text) <= columns, "{columns}: {text}");
        }
    }

    #[test]
    fn a_name_is_shortened_in_its_middle_by_what_it_takes_on_the_screen() {
        assert_eq!(shorten("song.ogg", 8), "song.ogg");
        assert_eq!(shorten("a long name (12).flac", 12), "a long….flac");
        assert_eq!(shorten("東京物語第一部.mkv", 10), "東京….mkv");
        assert_eq!(shorten("", 4), "");
    }

    #[test]
    fn all_is_said_where_there_is_room() {
        let line = ProgressLine {
            name: "a",
            share: " 50 %",
            amount: "1 B of 2 B",
            speed: "",
            others: "b waits",
        };
        assert_eq!(line.fit(80), "a  50 % 1 B of 2 B, b waits");
    }
}

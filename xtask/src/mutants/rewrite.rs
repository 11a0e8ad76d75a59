//! A file with all its mutants compiled in, each switched on by its number.

use std::collections::BTreeSet;
use std::ops::Range;

use super::sites::{Form, Site};

/// A rewritten file, and which mutants wrote what in it.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// In the order they end: the first that holds a byte is the innermost.
    marks: Vec<(Range<usize>, Vec<u32>)>,
}

impl Rewritten {
    /// The mutants that wrote the byte `at`: one, or all of a piece of code
    /// whose own text it is.
    pub(super) fn wrote(&self, at: usize) -> Option<&[u32]> {
        self.marks.iter().find(|(range, _)| range.contains(&at)).map(|(_, ids)| &ids[..])
    }
}

/// Writes `text` with its `sites`, outer ones first, without the mutants in
/// `dropped`.
pub(super) fn rewrite(text: &str, sites: &[Site], dropped: &BTreeSet<u32>) -> Rewritten {
    let mut writer =
        Writer { source: text, sites: sites.iter().peekable(), dropped, out: Rewritten::default() };
    writer.write(0..text.len());
    writer.out
}

struct Writer<'a> {
    source: &'a str,
    sites: std::iter::Peekable<std::slice::Iter<'a, Site>>,
    dropped: &'a BTreeSet<u32>,
    out: Rewritten,
}

impl Writer<'_> {
    /// Writes what is in `range`, and every site there.
    fn write(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while let Some(site) =
            self.sites.next_if(|site| site.range.start >= at && site.range.end <= range.end)
        {
            self.out.text.push_str(&self.source[at..site.range.start]);
            self.site(site);
            at = site.range.end;
        }
        self.out.text.push_str(&self.source[at..range.end]);
    }

    fn site(&mut self, site: &Site) {
        let ways: Vec<_> = site.ways.iter().filter(|(id, _)| !self.dropped.contains(id)).collect();
        if site.form == Form::Const {
            return;
        }
        if ways.is_empty() {
            return self.write(site.range.clone());
        }
        let ids: Vec<u32> = ways.iter().map(|(id, _)| *id).collect();
        let pick = format!("crate::mutant::pick(&{ids:?})");
        let start = self.out.text.len();
        match site.form {
            Form::Body => {
                for (id, value) in ways {
                    let start = self.out.text.len();
                    self.add(&format!(
                        " if crate::mutant::pick(&[{id}]) != 0 {{ return {value}; }}"
                    ));
                    self.out.marks.push((start..self.out.text.len(), vec![*id]));
                }
                return;
            }
            Form::Arm => self.add(&format!(" if {pick} == 0")),
            Form::Guard => {
                self.add(&format!("{pick} == 0 && ("));
                self.write(site.range.clone());
                self.add(")");
            }
            Form::Value | Form::Field | Form::Const => {
                if site.form == Form::Field {
                    self.add(&format!("{}: ", &self.source[site.range.clone()]));
                }
                self.add(&format!("(match {pick} {{ 0 => ("));
                self.write(site.range.clone());
                self.add(")");
                for (id, value) in ways {
                    let start = self.out.text.len();
                    self.add(&format!(", {id} => ({value})"));
                    self.out.marks.push((start..self.out.text.len(), vec![*id]));
                }
                self.add(", _ => unreachable!() })");
            }
        }
        self.out.marks.push((start..self.out.text.len(), ids));
    }

    fn add(&mut self, text: &str) {
        self.out.text.push_str(text);
    }
}

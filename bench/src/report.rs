//! What was measured, as a table or as JSON lines.

use serde::Serialize;

use crate::measure::{median, percentile};

/// One figure.
#[derive(Serialize)]
pub(crate) struct Row {
    /// The area.
    pub(crate) bench: &'static str,
    /// What was measured.
    pub(crate) case: String,
    /// Of both figures.
    pub(crate) unit: &'static str,
    /// Our figure.
    pub(crate) ours: f64,
    /// What stands beside it.
    pub(crate) baseline_name: String,
    /// Its figure; `null` when it is not on this machine.
    pub(crate) baseline: Option<f64>,
    /// Ours over the baseline.
    pub(crate) ratio: Option<f64>,
    /// What must hold, in words; empty when the figure is for information.
    pub(crate) target: String,
    /// Whether it does; `null` when nothing must hold or it cannot be said.
    pub(crate) pass: Option<bool>,
}

/// What a figure must satisfy.
pub(crate) enum Target {
    /// Our figure is at most this.
    AtMost(f64),
    /// Our figure is at least this.
    AtLeast(f64),
    /// Ours over the baseline is at most this.
    RatioAtMost(f64),
    /// Ours over the baseline is at least this.
    RatioAtLeast(f64),
    /// For information.
    None,
}

impl Target {
    fn judge(&self, ours: f64, ratio: Option<f64>) -> (String, Option<bool>) {
        match *self {
            Self::AtMost(limit) => (format!("<= {limit}"), Some(ours <= limit)),
            Self::AtLeast(limit) => (format!(">= {limit}"), Some(ours >= limit)),
            Self::RatioAtMost(limit) => {
                (format!("ratio <= {limit}"), ratio.map(|ratio| ratio <= limit))
            }
            Self::RatioAtLeast(limit) => {
                (format!("ratio >= {limit}"), ratio.map(|ratio| ratio >= limit))
            }
            Self::None => (String::new(), None),
        }
    }
}

/// Collects rows; JSON is printed at once, tables at the end.
pub(crate) struct Report {
    json: bool,
    rows: Vec<Row>,
}

impl Report {
    /// Nothing measured yet.
    pub(crate) fn new(json: bool) -> Self {
        Self { json, rows: Vec::new() }
    }

    /// True when lines of JSON are wanted.
    pub(crate) const fn is_json(&self) -> bool {
        self.json
    }

    /// Adds a figure and judges it.
    pub(crate) fn add(
        &mut self,
        (bench, case, unit): (&'static str, impl Into<String>, &'static str),
        ours: f64,
        (baseline_name, baseline): (impl Into<String>, Option<f64>),
        target: &Target,
    ) {
        let ratio = baseline.filter(|b| *b > 0.0).map(|b| ours / b);
        self.row((bench, case.into(), unit), ours, (baseline_name.into(), baseline, ratio), target);
    }

    /// Adds what was measured in pairs, ours and the baseline right after each
    /// other: the ratio is the middle one of the pairs' own ratios, so that
    /// whatever slows the machine for a while slows both sides of a pair. The
    /// spread is said on standard error.
    pub(crate) fn add_pairs(
        &mut self,
        (bench, case, unit): (&'static str, impl Into<String>, &'static str),
        baseline_name: &str,
        pairs: &[(f64, f64)],
        target: &Target,
    ) {
        let middle =
            |of: fn(&(f64, f64)) -> f64| median(&mut pairs.iter().map(of).collect::<Vec<_>>());
        let mut ratios: Vec<f64> = pairs.iter().map(|(ours, peer)| ours / peer).collect();
        let at = |percent, ratios: &mut [f64]| number(percentile(ratios, percent));
        eprintln!(
            "  {} pairs beside {baseline_name}: ratio {} to {}, half of them {} to {}",
            pairs.len(),
            at(0, &mut ratios),
            at(100, &mut ratios),
            at(25, &mut ratios),
            at(75, &mut ratios),
        );
        let beside = (baseline_name.to_owned(), Some(middle(|p| p.1)), Some(median(&mut ratios)));
        self.row((bench, case.into(), unit), middle(|p| p.0), beside, target);
    }

    fn row(
        &mut self,
        (bench, case, unit): (&'static str, String, &'static str),
        ours: f64,
        (baseline_name, baseline, ratio): (String, Option<f64>, Option<f64>),
        target: &Target,
    ) {
        let (target, pass) = target.judge(ours, ratio);
        let row = Row { bench, case, unit, ours, baseline_name, baseline, ratio, target, pass };
        if self.json {
            println!("{}", serde_json::to_string(&row).expect("numbers and text are JSON"));
        }
        self.rows.push(row);
    }

    /// Says on standard error what is being measured now.
    pub(crate) fn note(&self, what: &str) {
        eprintln!("measuring {what}");
    }

    /// Prints the tables; true when no target was missed.
    pub(crate) fn finish(self) -> bool {
        if !self.json {
            print!("{}", table(&self.rows));
        }
        self.rows.iter().all(|row| row.pass != Some(false))
    }
}

/// All rows under each other, columns aligned.
fn table(rows: &[Row]) -> String {
    let head = ["bench", "case", "unit", "ours", "beside", "its figure", "ratio", "target", ""];
    let mut cells = vec![head.map(str::to_owned)];
    for row in rows {
        cells.push([
            row.bench.to_owned(),
            row.case.clone(),
            row.unit.to_owned(),
            number(row.ours),
            row.baseline_name.clone(),
            row.baseline.map_or_else(|| "-".to_owned(), number),
            row.ratio.map_or_else(|| "-".to_owned(), number),
            row.target.clone(),
            match row.pass {
                Some(true) => "ok",
                Some(false) => "MISSED",
                None => "",
            }
            .to_owned(),
        ]);
    }
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in &cells {
        let line: Vec<_> = row.iter().zip(&widths).map(|(cell, w)| format!("{cell:<w$}")).collect();
        out.push_str(line.join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// Three figures that count, no more.
fn number(n: f64) -> String {
    match n.abs() {
        n if n >= 100.0 => format!("{:.0}", n.copysign(n)),
        n if n >= 10.0 => format!("{n:.1}"),
        n if n >= 1.0 => format!("{n:.2}"),
        _ => format!("{n:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_judged_and_printed() {
        let mut report = Report::new(false);
        report.add(("queue", "decision", "µs"), 3.0, ("scan", Some(1.5)), &Target::AtMost(2.0));
        report.add(
            ("queue", "upload", "MB/s"),
            95.0,
            ("nginx", Some(100.0)),
            &Target::RatioAtLeast(0.9),
        );
        report.add(("queue", "upload", "MB/s"), 95.0, ("absent", None), &Target::RatioAtLeast(0.9));
        let passes: Vec<_> = report.rows.iter().map(|row| row.pass).collect();
        assert_eq!(passes, [Some(false), Some(true), None]);
        assert_eq!(report.rows[0].ratio, Some(2.0));
        let text = table(&report.rows);
        assert_eq!(text.lines().count(), 4);
        assert!(text.contains("MISSED") && text.contains("0.950"), "{text}");
        assert!(!report.finish());
    }

    #[test]
    fn pairs_are_compared_each_with_its_own() {
        let mut report = Report::new(false);
        // The machine was slow in the second and third pair, for both sides.
        let pairs = [(100.0, 100.0), (20.0, 19.0), (30.0, 33.0), (100.0, 101.0), (95.0, 100.0)];
        report.add_pairs(("queue", "upload", "MB/s"), "nginx", &pairs, &Target::RatioAtLeast(0.9));
        let row = &report.rows[0];
        assert_eq!((row.ours, row.baseline, row.pass), (95.0, Some(100.0), Some(true)));
        assert_eq!(row.ratio, Some(100.0 / 101.0));
    }

    #[test]
    fn json_has_exactly_the_agreed_keys() {
        let mut report = Report::new(false);
        report.add(("sim", "events", "1/s"), 1.0, ("", None), &Target::None);
        let json = serde_json::to_string(&report.rows[0]).unwrap();
        assert_eq!(
            json,
            r#"{"bench":"sim","case":"events","unit":"1/s","ours":1.0,"baseline_name":"","baseline":null,"ratio":null,"target":"","pass":null}"#
        );
    }
}

//! The clock, and figures made of many figures.

use std::time::{Duration, Instant};

/// The clock of the measurements.
#[allow(clippy::disallowed_methods)] // Measuring is the purpose here.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits a moment before looking again; never part of what is measured.
#[allow(clippy::disallowed_methods)] // Bounded by the deadline of every caller.
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

/// Lets so much time pass between two looks at what is measured.
#[allow(clippy::disallowed_methods)] // What is looked at goes on by itself.
pub(crate) fn wait(length: Duration) {
    std::thread::sleep(length);
}

/// The middle one; 0 when there is none.
pub(crate) fn median(figures: &mut [f64]) -> f64 {
    percentile(figures, 50)
}

/// The one that `percent` of all do not exceed; 0 when there is none.
pub(crate) fn percentile(figures: &mut [f64], percent: usize) -> f64 {
    figures.sort_by(f64::total_cmp);
    let last = figures.len().saturating_sub(1);
    figures.get((last * percent).div_ceil(100)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_hundred() {
        let mut figures: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(median(&mut figures), 50.0);
        assert_eq!(percentile(&mut figures, 95), 95.0);
        assert_eq!(percentile(&mut [], 95), 0.0);
    }
}

//! The cells of the table: lines that people have.

use super::LineWorld;

/// One cell, and what must hold in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineCell {
    /// Megabits per second.
    pub mbit: u64,
    /// Milliseconds of round trip.
    pub round_trip_ms: u64,
    /// Datagrams of a thousand lost on the way there.
    pub loss: u64,
    /// The buffer, in hundredths of the bandwidth-delay product.
    pub buffer: u64,
    /// Megabits per second that must reach the application.
    pub goal: u64,
}

const fn cell(mbit: u64, round_trip_ms: u64, loss: u64, buffer: u64, goal: u64) -> LineCell {
    LineCell { mbit, round_trip_ms, loss, buffer, goal }
}

/// 100 and 300 megabits per second.
pub const LINES: [LineCell; 15] = [
    cell(100, 20, 0, 100, 93),
    cell(100, 20, 1, 100, 93),
    cell(100, 20, 10, 100, 93),
    cell(100, 20, 50, 100, 88),
    cell(100, 100, 0, 100, 88),
    cell(100, 100, 1, 100, 88),
    cell(100, 100, 10, 100, 84),
    cell(100, 100, 50, 100, 82),
    cell(100, 200, 10, 100, 75),
    cell(100, 20, 0, 10, 91),
    cell(100, 100, 0, 10, 88),
    cell(100, 100, 10, 10, 84),
    cell(300, 20, 0, 100, 280),
    cell(300, 100, 0, 100, 265),
    cell(300, 200, 0, 100, 250),
];

/// A gigabit per second across an ocean.
pub const FAR: [LineCell; 4] = [
    cell(1_000, 100, 0, 100, 940),
    cell(1_000, 100, 1, 100, 930),
    cell(1_000, 100, 10, 100, 900),
    cell(1_000, 100, 50, 100, 800),
];

impl LineCell {
    /// The line with one flow.
    #[must_use]
    pub fn world(&self) -> LineWorld {
        LineWorld::new(self.mbit, self.round_trip_ms, self.buffer).losing(self.loss)
    }

    /// Its name in tables.
    #[must_use]
    pub fn name(&self) -> alloc::string::String {
        let Self { mbit, round_trip_ms, loss, buffer, .. } = self;
        let (whole, tenth) = (loss / 10, loss % 10);
        let buffer = if *buffer == 100 {
            alloc::string::String::new()
        } else {
            alloc::format!(", buffer {}.{} BDP", buffer / 100, buffer % 100 / 10)
        };
        alloc::format!("{mbit} Mbit/s, {round_trip_ms} ms, {whole}.{tenth} %{buffer}")
    }
}

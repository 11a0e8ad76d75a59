//! Many seeds on all cores.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::exit::{Exit, Failure};
use servent_sim::registry::PlayedRun;

/// Plays every seed and tells of the runs in the order of the seeds, each as
/// soon as those before it are told. The first failure of `tell` ends it.
///
/// # Errors
/// That failure, or the first seed whose run panicked.
pub(super) fn sweep(
    seeds: &[u64],
    play: impl Fn(u64) -> PlayedRun + Sync,
    mut tell: impl FnMut(PlayedRun) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let (done, played) = mpsc::channel();
    let work = |done: mpsc::Sender<(usize, thread::Result<PlayedRun>)>| {
        while let Some((place, seed)) = take(&next, seeds) {
            let run = catch_unwind(AssertUnwindSafe(|| play(seed)));
            if done.send((place, run)).is_err() {
                return; // A failure has been told.
            }
        }
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores.min(seeds.len()) {
            let done = done.clone();
            scope.spawn(|| work(done));
        }
        drop(done);
        let (mut early, mut expected) = (BTreeMap::new(), 0);
        for (place, run) in played {
            early.insert(place, run);
            while let Some(run) = early.remove(&expected) {
                tell(run.map_err(|panic| broken(seeds[expected], &*panic))?)?;
                expected += 1;
            }
        }
        Ok(())
    })
}

/// The next seed that no thread has taken, with its place among all.
fn take(next: &AtomicUsize, seeds: &[u64]) -> Option<(usize, u64)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    Some((place, *seeds.get(place)?))
}

fn broken(seed: u64, panic: &(dyn Any + Send)) -> Failure {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
    Failure::new(Exit::Unverified, format!("seed {seed} broke off: {words}"))
        .next(format!("this is a defect of the program: report it with `--seed {seed}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sim::scenario;
    use servent_sim::registry::RunEnd;

    fn run(seed: u64) -> PlayedRun {
        scenario::play(&scenario::named("lose-last", None).unwrap(), seed, RunEnd::Settled)
    }

    #[test]
    fn runs_are_told_in_the_order_of_their_seeds() {
        let seeds: Vec<u64> = (5..45).collect();
        let mut told = Vec::new();
        let tell = |run: PlayedRun| {
            told.push(run.seed);
            Ok(())
        };
        sweep(&seeds, run, tell).unwrap();
        assert_eq!(told, seeds);
    }

    #[test]
    fn a_failure_ends_it_and_a_panic_names_its_seed() {
        let mut told = 0;
        let stop = |_| {
            told += 1;
            Err(Failure::usage("enough"))
        };
        assert_eq!(sweep(&[1, 2, 3], run, stop).unwrap_err().what, "enough");
        assert_eq!(told, 1);
        let play = |seed| if seed == 2 { panic!("at {seed}") } else { run(seed) };
        let failure = sweep(&[1, 2, 3], play, |_| Ok(())).unwrap_err();
        assert_eq!(failure.what, "seed 2 broke off: at 2");
    }
}

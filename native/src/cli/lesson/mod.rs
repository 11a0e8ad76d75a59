//! `servent lesson`: lessons of the lab, checked before a class meets them.

mod pack;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use servent_sim::lesson::{self, Finding, Lesson, Report, StageError, StageTweak, Task};

use self::pack::{Pack, pack};
use super::print;
use crate::exit::{Exit, Failure};
use crate::progress::count;

/// Check a lesson of the lab, or print one to begin your own.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent lesson list
  servent lesson show cut-the-wire > mine.toml
  servent lesson events mine.toml
  servent lesson check mine.toml
  servent lesson pack mine.toml")]
pub(crate) struct LessonArgs {
    #[command(subcommand)]
    action: LessonAction,
}

#[derive(Debug, Subcommand)]
enum LessonAction {
    Check(Check),
    Events(Events),
    Show(Show),
    List(ListLessonsArgs),
    Pack(Pack),
}

/// Say whether a lesson can be read and tells the truth.
///
/// What cannot be read is named with its line and column. Every question is
/// then answered from runs with many seeds: it must have one answer, the one
/// the lesson says. Every goal must be reached by its solution, with each of
/// the seeds, and by nothing that is listed as wrong.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent lesson check mine.toml
  servent lesson check mine.toml --seeds 1000
  servent lesson check cut-the-wire")]
struct Check {
    /// The lesson: a file, or one that `servent lesson list` names.
    #[arg(value_name = "FILE|LESSON")]
    file: PathBuf,
    /// So many seeds, the lesson's own first.
    #[arg(long, value_name = "N", default_value_t = 200,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: u64,
}

/// Print what happens in the world of a step, by the names that predicates use.
///
/// A line for each event: when, its name, its node, the other node it is about,
/// its fields. The totals stand at the end.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent lesson events mine.toml
  servent lesson events mine.toml --step 6 --seed 9 | grep queue.lost")]
struct Events {
    /// The lesson: a file, or one that `servent lesson list` names.
    #[arg(value_name = "FILE|LESSON")]
    file: PathBuf,
    /// The step whose world it is, counted from 1.
    #[arg(long, value_name = "N", default_value_t = 1)]
    step: usize,
    /// Another seed.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// Print one of the lab's lessons, to begin your own.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent lesson show cut-the-wire > mine.toml")]
struct Show {
    /// Which: `servent lesson list` names them.
    #[arg(value_name = "LESSON")]
    id: String,
}

/// List the lessons of the lab.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent lesson list")]
struct ListLessonsArgs {}

pub(crate) fn run(arguments: &LessonArgs) -> Result<(), Failure> {
    match &arguments.action {
        LessonAction::Check(Check { file, seeds }) => check(file, *seeds),
        LessonAction::Events(Events { file, step, seed }) => events(file, *step, *seed),
        LessonAction::Show(Show { id }) => show(id),
        LessonAction::Pack(arguments) => pack(arguments),
        LessonAction::List(ListLessonsArgs {}) => lesson::all().iter().try_for_each(|one| {
            print(format!("{:<20} {}\n{:<20} {}\n", one.id, one.title, "", one.text))
        }),
    }
}

/// A lesson from a file, or the lab's of that name where there is no such file.
fn read(path: &Path) -> Result<Lesson, Failure> {
    text(path).and_then(|text| proofread(path, &text))
}

/// The text of a lesson from a file, or of the lab's of that name.
fn text(path: &Path) -> Result<String, Failure> {
    match path.to_str().and_then(text_of).filter(|_| !path.exists()) {
        Some(text) => Ok(text.to_owned()),
        None => std::fs::read_to_string(path).map_err(|e| {
            let failure = Failure::file("read", path, &e);
            match e.kind() {
                io::ErrorKind::NotFound => {
                    failure.next("check the path, or name a lesson that `servent lesson list` has")
                }
                _ => failure,
            }
        }),
    }
}

fn proofread(path: &Path, text: &str) -> Result<Lesson, Failure> {
    Lesson::proofread(text).map_err(|why| {
        let place = format!("{}:{}:{}", path.display(), why.line, why.column);
        Failure::new(Exit::Foreign, format!("{place}: {}", why.what)).next(
            "docs/lessons.md explains every key; `servent lesson show cut-the-wire` prints a \
             lesson that works",
        )
    })
}

fn events(path: &Path, step: usize, seed: Option<u64>) -> Result<(), Failure> {
    let lesson = read(path)?;
    let refused = |why: StageError| Failure::usage(format!("{}: {why}", path.display()));
    let course = lesson
        .stage(step.saturating_sub(1))
        .and_then(|stage| stage.with(&StageTweak { seed, ..StageTweak::default() }))
        .and_then(|stage| stage.course(None))
        .map_err(|why| refused(why).next("`servent lesson check FILE` counts the steps"))?;
    for fact in &course.facts {
        let at = fact.at.as_micros() as f64 / 1e6;
        let about = fact.other.map_or("-", |node| course.name(node));
        let fields = serde_json::Value::Object(fact.fields.clone());
        let (kind, node) = (&fact.kind, course.name(fact.node));
        print(format!("{at:>12.6}  {kind:<22} {node:<12} {about:<12} {fields}\n"))?;
    }
    course.totals.iter().try_for_each(|(name, value)| print(format!("total {name} = {value}\n")))
}

fn check(path: &Path, seeds: u64) -> Result<(), Failure> {
    let lesson = read(path)?;
    let report = lesson.check(seeds);
    print(summarize(&lesson, &report))?;
    let Some(Finding { step, seed, what }) = report.wrong.first() else { return Ok(()) };
    let what = format!("{}: step {step}, seed {seed}: {what}", path.display());
    Err(Failure::new(Exit::Unverified, what)
        .next("change the answer or the predicate, or let the question say `varies = true`"))
}

/// What was found out, for people.
fn summarize(lesson: &Lesson, report: &Report) -> String {
    let asking = lesson.steps.iter().filter(|step| step.task != Task::Nothing).count();
    let Lesson { id, steps, .. } = lesson;
    let mut text = format!(
        "{id}: {}, {asking} of them ask; {} each\n",
        count(steps.len() as u64, "step"),
        count(report.seeds, "seed")
    );
    for Finding { step, what, .. } in &report.answers {
        text += &format!("  step {step}: {what}\n");
    }
    if report.wrong.is_empty() {
        text += "  every answer holds\n";
    }
    text
}

/// The text of one of the lab's lessons.
fn text_of(id: &str) -> Option<&'static str> {
    lesson::ALL.iter().copied().find(|text| Lesson::parse(text).is_ok_and(|one| one.id == id))
}

fn show(id: &str) -> Result<(), Failure> {
    let Some(text) = text_of(id) else {
        let known: Vec<String> = lesson::all().into_iter().map(|one| one.id).collect();
        return Err(Failure::usage(format!("there is no lesson {id}"))
            .next(format!("choose one of {}", known.join(", "))));
    };
    print(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lesson_is_a_file_or_one_of_the_labs() {
        assert_eq!(read(Path::new("cut-the-wire")).unwrap().id, "cut-the-wire");
        let none = read(Path::new("no-such-lesson")).unwrap_err();
        assert_eq!(none.exit, Exit::Disk);
        assert!(none.next.unwrap().contains("servent lesson list"));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.toml");
        std::fs::write(&file, text_of("cut-the-wire").unwrap()).unwrap();
        assert_eq!(read(&file).unwrap().id, "cut-the-wire");
    }
}

//! Reads a lesson: what makes no sense is refused at its line and column.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::error::Error;
use core::fmt::{self, Display, Formatter};
use core::ops::Range;

use toml::Spanned;

use super::raw;
use super::{
    AnswerChoice, EventPattern, Lesson, LessonGoal, LessonStage, LessonStep, Measure, OrderItem,
    Question, QuestionKind, RunClaim, StageError, StageTweak, StepKind, Task, TemptingAnswer,
    WorldSetting,
};
use servent_core::time::{Duration, Instant};

/// What is wrong with a lesson, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessonError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column, in characters, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub what: String,
}

impl Display for LessonError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

impl Error for LessonError {}

/// Something wrong, at a place in the text.
type FileMistake = (Range<usize>, String);
type FileResult<T> = Result<T, FileMistake>;

impl Lesson {
    /// Reads a lesson.
    ///
    /// # Errors
    /// The first thing that makes no sense, at its line and column.
    pub fn parse(text: &str) -> Result<Self, LessonError> {
        Self::read(text, |_, _| None)
    }

    /// Reads a lesson, and looks up the name of every event: one that the
    /// protocol does not have never happens, so that a claim about it means
    /// nothing.
    ///
    /// # Errors
    /// The first thing that makes no sense, at its line and column.
    pub fn proofread(text: &str) -> Result<Self, LessonError> {
        Self::read(text, LessonStage::wrong_name)
    }

    fn read(text: &str, wrong_name: WrongName) -> Result<Self, LessonError> {
        let raw: raw::RawLesson = toml::from_str(text).map_err(|why| {
            located(text, (why.span().unwrap_or(0..0), why.message().to_string()))
        })?;
        lesson(raw, wrong_name).map_err(|wrong| located(text, wrong))
    }
}

fn located(text: &str, (span, what): FileMistake) -> LessonError {
    let before = text.get(..span.start.min(text.len())).unwrap_or(text);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    // Reasons of scenarios may be of several lines.
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    LessonError { line: before.matches('\n').count() + 1, column, what }
}

fn wrong<T>(span: Range<usize>, what: impl Into<String>) -> FileResult<T> {
    Err((span, what.into()))
}

/// Says what is wrong with the name of an event, if anything is.
type WrongName = fn(&LessonStage, &str) -> Option<String>;

/// What the steps are read against.
struct KnownNames {
    stage: LessonStage,
    wrong_name: WrongName,
    names: Vec<String>,
    length: Duration,
    exit_test: bool,
}

fn lesson(raw: raw::RawLesson, wrong_name: WrongName) -> FileResult<Lesson> {
    let named = |name: &Spanned<String>, what: &str| {
        let empty = name.get_ref().trim().is_empty();
        if empty { wrong(name.span(), format!("{what} is missing")) } else { Ok(()) }
    };
    named(&raw.title, "the title")?;
    named(&raw.concept, "the concept that the lesson ends on")?;
    let id = raw.id.get_ref();
    if id.is_empty()
        || !id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    {
        return wrong(raw.id.span(), "an id is made of a-z, 0-9 and `-`");
    }
    let preset = raw.world.get_ref().preset.as_ref().map(|name| name.get_ref().clone());
    let plain = raw.world.get_ref();
    let unchanged = plain.set.is_empty() && plain.seed.is_none() && plain.seconds.is_none();
    let preset = preset.filter(|_| unchanged);
    let stage = stage(raw.view, raw.world)?;
    let told = |why: StageError| (0..0, why.to_string());
    let exit_test = raw.exit_test;
    let (names, length) = (stage.names().map_err(told)?, stage.length().map_err(told)?);
    let known = KnownNames { stage: stage.clone(), names, length, wrong_name, exit_test };
    let mut steps: Vec<LessonStep> = Vec::new();
    let mut asked: Vec<(String, usize)> = Vec::new();
    for one in raw.step {
        let (span, one) = (one.span(), one.into_inner());
        let name = one.id.as_ref().map(|id| id.get_ref().clone());
        let read = step(&known, &stage, &asked, &steps, span, one)?;
        asked.extend(name.map(|name| (name, steps.len())));
        steps.push(read);
    }
    let last = raw.id.span();
    let explains = steps.iter().any(|step| step.kind == StepKind::Explain);
    if !exit_test && !explains {
        return wrong(last, "a lesson has a step that explains: do = \"explain\"");
    }
    if exit_test && explains {
        return wrong(last, "an exit test explains nothing before it is over");
    }
    if steps.last().is_none_or(|step| step.kind != StepKind::Exit) {
        return wrong(last, "the last step is the exit question: do = \"exit\"");
    }
    Ok(Lesson {
        id: raw.id.into_inner(),
        view: raw.view,
        title: raw.title.into_inner(),
        text: raw.text,
        concept: raw.concept.into_inner(),
        minutes: raw.minutes,
        help: raw.help,
        exit_test,
        stage,
        preset,
        steps,
    })
}

fn stage(
    view: crate::registry::ProtocolId,
    raw: Spanned<raw::RawWorld>,
) -> FileResult<LessonStage> {
    let (span, raw) = (raw.span(), raw.into_inner());
    let at = |why: StageError| (span.clone(), why.to_string());
    let stage = match (raw.preset, raw.scenario) {
        (Some(id), None) => LessonStage::preset(view, id.get_ref()).ok_or_else(|| {
            (
                id.span(),
                format!("this view has no preset `{}`: `servent sim` lists them", id.get_ref()),
            )
        })?,
        (None, Some(scenario)) => LessonStage::new(view, scenario).map_err(at)?,
        _ => return wrong(span, "a world is a `preset` or a `scenario`"),
    };
    let tweak = StageTweak { seed: raw.seed, set: raw.set, acts: Vec::new() };
    let stage = stage.with(&tweak).map_err(at)?;
    let Some(seconds) = raw.seconds else { return Ok(stage) };
    let length = instant(&seconds)?.since(Instant::ZERO);
    stage.shortened(length).map_err(at)
}

fn step(
    known: &KnownNames,
    stage: &LessonStage,
    asked: &[(String, usize)],
    before: &[LessonStep],
    span: Range<usize>,
    mut raw: raw::RawStep,
) -> FileResult<LessonStep> {
    let (kind, place) = (*raw.r#do.get_ref(), raw.r#do.span());
    let seen = raw.seen.take().map(|seen| seen_in(known, kind, seen)).transpose()?;
    let at = raw.at.as_ref().map(|at| moment(known, at)).transpose()?;
    let until = raw.until.as_ref().map(|until| moment(known, until)).transpose()?;
    let tweak = StageTweak { seed: raw.seed, set: raw.set.clone(), acts: Vec::new() };
    stage.with(&tweak).map_err(|why| (span, why.to_string()))?;
    let (text, clause) = (raw.text.get_ref().clone(), raw.clause.clone());
    let told = LessonStep { kind, text, at, until, seen, clause, tweak, task: Task::Nothing };
    let count = usize::from(raw.choices.is_some())
        + usize::from(raw.number.is_some())
        + usize::from(raw.point.is_some())
        + usize::from(raw.order.is_some());
    match kind {
        StepKind::Predict if at.is_none() => {
            wrong(place, "a prediction needs `at`: nothing that happens later is shown before it")
        }
        StepKind::Predict | StepKind::Observe if count == 1 => {
            Ok(LessonStep { task: Task::Question(question(known, raw)?), ..told })
        }
        StepKind::Predict | StepKind::Observe => {
            wrong(place, "this step asks: it needs one of `choices`, `number`, `point`, `order`")
        }
        StepKind::Exit if known.exit_test && at.is_none() => {
            wrong(place, "a question of an exit test needs `at`: where the clock stands")
        }
        StepKind::Exit if known.exit_test && count == 1 => {
            Ok(LessonStep { task: Task::Question(question(known, raw)?), ..told })
        }
        StepKind::Exit => again(asked, before, place, &raw, told),
        StepKind::Goal => {
            Ok(LessonStep { task: Task::Goal(goal(known, stage, place, raw)?), ..told })
        }
        _ if count > 0 || raw.goal.is_some() => {
            wrong(place, "this step asks nothing: leave the question out, or let it do `predict`")
        }
        StepKind::Reveal if until.is_none() => {
            wrong(place, "a step that shows something needs `until`, in seconds")
        }
        _ => Ok(told),
    }
}

/// What has been seen when a verdict comes.
fn seen_in(
    known: &KnownNames,
    kind: StepKind,
    seen: Spanned<raw::RawClaim>,
) -> FileResult<RunClaim> {
    if kind != StepKind::Reveal {
        return wrong(seen.span(), "`seen` belongs to a step that shows something: `reveal`");
    }
    claim(known, seen)
}

/// What was asked before, of another world.
fn again(
    asked: &[(String, usize)],
    before: &[LessonStep],
    place: Range<usize>,
    raw: &raw::RawStep,
    told: LessonStep,
) -> FileResult<LessonStep> {
    let Some(same) = &raw.same_as else {
        return wrong(place, "an exit question names the step it asks again: `same_as`");
    };
    let found = asked.iter().find(|(id, _)| id == same.get_ref()).map(|(_, i)| &before[*i]);
    let Some(LessonStep { task: Task::Question(question), at, until, .. }) = found else {
        return wrong(
            same.span(),
            format!("no step before has the id `{}` and asks", same.get_ref()),
        );
    };
    if told.tweak == StageTweak::default() {
        return wrong(
            place,
            "an exit question is about another world: give it a `seed` or a `set`",
        );
    }
    let mut question = question.clone();
    question.right = raw.right.clone().unwrap_or(question.right);
    question.otherwise = raw.otherwise.clone().unwrap_or(question.otherwise);
    // Which sentence is true there is for the core to say.
    question.varies = true;
    let (at, until) = (told.at.or(*at), told.until.or(*until));
    Ok(LessonStep { at, until, task: Task::Question(question), ..told })
}

fn question(known: &KnownNames, raw: raw::RawStep) -> FileResult<Question> {
    let place = raw.r#do.span();
    let Some(right) = raw.right else {
        return wrong(place, "`right` is missing: what is shown to students who are right");
    };
    let of = match (raw.choices, raw.number, raw.point, raw.order) {
        (Some(choices), ..) => choice(known, choices, raw.varies)?,
        (_, Some(number), ..) => self::number(known, number)?,
        (_, _, Some(point), _) => self::point(known, point)?,
        (.., Some(order)) => self::order(known, order)?,
        _ => return wrong(place, "nothing is asked"),
    };
    let by_itself = matches!(of, QuestionKind::Choice(_)) && !raw.varies;
    let Some(otherwise) = raw.otherwise.or(by_itself.then(String::new)) else {
        return wrong(place, "`otherwise` is missing: what is shown to students who are wrong");
    };
    Ok(Question { of, right, otherwise, varies: raw.varies })
}

fn choice(
    known: &KnownNames,
    raw: Spanned<Vec<Spanned<raw::RawChoice>>>,
    varies: bool,
) -> FileResult<QuestionKind> {
    let (span, raw) = (raw.span(), raw.into_inner());
    if !(2..=6).contains(&raw.len()) {
        return wrong(span, "a choice is of two to six sentences");
    }
    let choices = raw.into_iter().map(|one| {
        let raw::RawChoice { text, holds, wrong } = one.into_inner();
        Ok(AnswerChoice { text, holds: claim(known, holds)?, wrong })
    });
    let choices = choices.collect::<FileResult<Vec<AnswerChoice>>>()?;
    let right = choices.iter().filter(|choice| choice.wrong.is_none()).count();
    match (varies, right) {
        (false, 1) | (true, 0) => Ok(QuestionKind::Choice(choices)),
        (false, _) => wrong(
            span,
            format!(
                "every choice but the right one has a `wrong` that says why it tempts; {right} have none"
            ),
        ),
        (true, _) => wrong(span, "the answer varies, so every choice needs a `wrong`"),
    }
}

fn number(known: &KnownNames, raw: Spanned<raw::RawNumber>) -> FileResult<QuestionKind> {
    let (span, raw) = (raw.span(), raw.into_inner());
    let measure = match (raw.count, raw.time, raw.total) {
        (Some(of), None, None) => Measure::Count(pattern(known, of.into_inner())?),
        (None, Some(of), None) => Measure::Time(pattern(known, of.into_inner())?),
        (None, None, Some(name)) => Measure::Total(name),
        _ => return wrong(span, "a number is one of `count`, `time` and `total`"),
    };
    let wrong =
        raw.wrong.into_iter().map(|one| TemptingAnswer { answer: one.answer, why: one.why });
    Ok(QuestionKind::Number { measure, slack: raw.slack, unit: raw.unit, wrong: wrong.collect() })
}

fn point(known: &KnownNames, raw: Spanned<raw::Point>) -> FileResult<QuestionKind> {
    let raw = raw.into_inner();
    let wrong = raw.wrong.into_iter().map(|one| {
        let answer = node(known, &one.answer)?;
        Ok(TemptingAnswer { answer, why: one.why })
    });
    let wrong = wrong.collect::<FileResult<Vec<_>>>()?;
    Ok(QuestionKind::Point {
        pattern: pattern(known, raw.at.into_inner())?,
        about: raw.other,
        wrong,
    })
}

fn order(known: &KnownNames, raw: Spanned<Vec<Spanned<raw::RawItem>>>) -> FileResult<QuestionKind> {
    let (span, raw) = (raw.span(), raw.into_inner());
    if !(2..=6).contains(&raw.len()) {
        return wrong(span, "an order is of two to six things");
    }
    let items = raw.into_iter().map(|one| {
        let raw::RawItem { text, first } = one.into_inner();
        Ok(OrderItem { text, pattern: pattern(known, first.into_inner())? })
    });
    items.collect::<FileResult<Vec<OrderItem>>>().map(QuestionKind::Order)
}

fn goal(
    known: &KnownNames,
    stage: &LessonStage,
    place: Range<usize>,
    raw: raw::RawStep,
) -> FileResult<LessonGoal> {
    let Some(goal) = raw.goal else {
        return wrong(place, "this step sets a goal: it needs `goal`");
    };
    let (Some(right), Some(otherwise)) = (raw.right, raw.otherwise) else {
        return wrong(
            place,
            "a goal needs `right` and `otherwise`: what is said when it is reached, and when not",
        );
    };
    let goal = goal.into_inner();
    let mut settings = Vec::new();
    for one in goal.settings {
        let raw::RawSetting { key, text, values } = one.into_inner();
        let span = key.span();
        let key = key.into_inner();
        for value in &values {
            let set = [(key.clone(), value.clone())].into_iter().collect();
            tried(stage, &StageTweak { set, ..StageTweak::default() }, span.clone())?;
        }
        settings.push(WorldSetting { key, text, values });
    }
    let tweak = |raw: Spanned<raw::RawTweak>| {
        let (span, raw::RawTweak { acts, set }) = (raw.span(), raw.into_inner());
        let tweak = StageTweak { acts, set, seed: None };
        tried(stage, &tweak, span)?;
        Ok(tweak)
    };
    let solution = tweak(goal.solution)?;
    let wrong = goal
        .wrong
        .into_iter()
        .map(|one| Ok(TemptingAnswer { answer: tweak(one.answer)?, why: one.why }));
    let wrong = wrong.collect::<FileResult<Vec<_>>>()?;
    let (holds, unmet, budget) = (goal.holds, goal.unmet, goal.budget);
    let span = holds.span();
    let claim = claim(known, holds)?;
    let conditions = if let RunClaim::All(conditions) = &claim { conditions.len() } else { 0 };
    if !unmet.is_empty() && unmet.len() != conditions {
        return self::wrong(span, "`unmet` needs one sentence for each condition of `all`");
    }
    Ok(LessonGoal { claim, budget, settings, right, otherwise, unmet, solution, wrong })
}

fn tried(stage: &LessonStage, tweak: &StageTweak, span: Range<usize>) -> FileResult<()> {
    stage.with(tweak).map(|_| ()).map_err(|why| (span, why.to_string()))
}

fn claim(known: &KnownNames, raw: Spanned<raw::RawClaim>) -> FileResult<RunClaim> {
    let (span, raw) = (raw.span(), raw.into_inner());
    let (least, most) = (raw.at_least, raw.at_most);
    let many = |list: Vec<Spanned<raw::RawClaim>>| {
        list.into_iter().map(|one| claim(known, one)).collect::<FileResult<Vec<RunClaim>>>()
    };
    match (raw.happens, raw.never, raw.total, raw.first, raw.then, raw.all, raw.any) {
        (Some(of), None, None, None, None, None, None) => {
            let least = least.map_or(u64::from(most.is_none()), |n| n as u64);
            let most = most.map_or(u64::MAX, |n| n as u64);
            Ok(RunClaim::Count { pattern: pattern(known, of)?, least, most })
        }
        (None, Some(of), None, None, None, None, None) => {
            Ok(RunClaim::Count { pattern: pattern(known, of)?, least: 0, most: 0 })
        }
        (None, None, Some(name), None, None, None, None) if least.or(most).is_some() => {
            let (least, most) = (least.unwrap_or(f64::MIN), most.unwrap_or(f64::MAX));
            Ok(RunClaim::Total { name, least, most })
        }
        (None, None, None, Some(first), Some(then), None, None) => {
            Ok(RunClaim::Before { first: pattern(known, first)?, then: pattern(known, then)? })
        }
        (None, None, None, None, None, Some(all), None) => many(all).map(RunClaim::All),
        (None, None, None, None, None, None, Some(any)) => many(any).map(RunClaim::Any),
        _ => wrong(
            span,
            "a claim is one of `happens`, `never`, `total` with `at_least` or `at_most`, `first` with `then`, `all`, `any`",
        ),
    }
}

fn pattern(known: &KnownNames, raw: raw::RawPattern) -> FileResult<EventPattern> {
    let event = raw.event.get_ref();
    if event.split('.').filter(|part| !part.is_empty()).count() != 2 {
        return wrong(raw.event.span(), "an event is an area and what happens, as \"queue.lost\"");
    }
    if let Some(why) = (known.wrong_name)(&known.stage, event) {
        return wrong(raw.event.span(), why);
    }
    let name = |of: &Option<Spanned<String>>| of.as_ref().map(|of| node(known, of)).transpose();
    Ok(EventPattern {
        event: event.clone(),
        node: name(&raw.node)?,
        about: name(&raw.about)?,
        with: raw.with,
        from: raw.from.as_ref().map(|from| moment(known, from)).transpose()?.unwrap_or_default(),
        by: raw.by.as_ref().map(|by| moment(known, by)).transpose()?,
    })
}

/// A node that there is.
fn node(known: &KnownNames, name: &Spanned<String>) -> FileResult<String> {
    if known.names.iter().any(|known| known == name.get_ref()) {
        return Ok(name.get_ref().clone());
    }
    let some = known.names.iter().take(12).map(String::as_str).collect::<Vec<_>>().join(", ");
    wrong(name.span(), format!("there is no node `{}`; there are {some}", name.get_ref()))
}

/// An instant within the world's length.
fn moment(known: &KnownNames, seconds: &Spanned<f64>) -> FileResult<Instant> {
    let at = instant(seconds)?;
    if at > Instant::ZERO + known.length {
        let length = known.length.as_micros() as f64 / 1e6;
        return wrong(seconds.span(), format!("the world ends after {length} s"));
    }
    Ok(at)
}

fn instant(seconds: &Spanned<f64>) -> FileResult<Instant> {
    let value = *seconds.get_ref();
    if !(0.0..1e9).contains(&value) {
        return wrong(seconds.span(), "an instant is in seconds from the beginning");
    }
    Ok(Instant::from_micros((value * 1e6 + 0.5) as u64))
}

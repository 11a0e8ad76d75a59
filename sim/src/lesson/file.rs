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
    Asked, Choice, Claim, Goal, Item, Kind, Lesson, Measure, Pattern, Question, Setting, Stage,
    StageError, Step, Task, Tempting, Tweak,
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
type Wrong = (Range<usize>, String);
type Read<T> = Result<T, Wrong>;

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
        Self::read(text, Stage::wrong_name)
    }

    fn read(text: &str, wrong_name: WrongName) -> Result<Self, LessonError> {
        let raw: raw::Lesson = toml::from_str(text).map_err(|why| {
            located(text, (why.span().unwrap_or(0..0), why.message().to_string()))
        })?;
        lesson(raw, wrong_name).map_err(|wrong| located(text, wrong))
    }
}

fn located(text: &str, (span, what): Wrong) -> LessonError {
    let before = text.get(..span.start.min(text.len())).unwrap_or(text);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    // Reasons of scenarios may be of several lines.
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    LessonError { line: before.matches('\n').count() + 1, column, what }
}

fn wrong<T>(span: Range<usize>, what: impl Into<String>) -> Read<T> {
    Err((span, what.into()))
}

/// Says what is wrong with the name of an event, if anything is.
type WrongName = fn(&Stage, &str) -> Option<String>;

/// What the steps are read against.
struct Known {
    stage: Stage,
    wrong_name: WrongName,
    names: Vec<String>,
    length: Duration,
}

fn lesson(raw: raw::Lesson, wrong_name: WrongName) -> Read<Lesson> {
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
    let (names, length) = (stage.names().map_err(told)?, stage.length().map_err(told)?);
    let known = Known { stage: stage.clone(), names, length, wrong_name };
    let mut steps: Vec<Step> = Vec::new();
    let mut asked: Vec<(String, usize)> = Vec::new();
    for one in raw.step {
        let (span, one) = (one.span(), one.into_inner());
        let name = one.id.as_ref().map(|id| id.get_ref().clone());
        let read = step(&known, &stage, &asked, &steps, span, one)?;
        asked.extend(name.map(|name| (name, steps.len())));
        steps.push(read);
    }
    let last = raw.id.span();
    if !steps.iter().any(|step| step.kind == Kind::Explain) {
        return wrong(last, "a lesson has a step that explains: do = \"explain\"");
    }
    if steps.last().is_none_or(|step| step.kind != Kind::Exit) {
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
        stage,
        preset,
        steps,
    })
}

fn stage(view: super::Topic, raw: Spanned<raw::World>) -> Read<Stage> {
    let (span, raw) = (raw.span(), raw.into_inner());
    let at = |why: StageError| (span.clone(), why.to_string());
    let stage = match (raw.preset, raw.scenario) {
        (Some(id), None) => Stage::preset(view, id.get_ref()).ok_or_else(|| {
            (
                id.span(),
                format!("this view has no preset `{}`: `servent sim` lists them", id.get_ref()),
            )
        })?,
        (None, Some(scenario)) => Stage::new(view, scenario).map_err(at)?,
        _ => return wrong(span, "a world is a `preset` or a `scenario`"),
    };
    let tweak = Tweak { seed: raw.seed, set: raw.set, acts: Vec::new() };
    let stage = stage.with(&tweak).map_err(at)?;
    let Some(seconds) = raw.seconds else { return Ok(stage) };
    let length = instant(&seconds)?.since(Instant::ZERO);
    stage.shortened(length).map_err(at)
}

fn step(
    known: &Known,
    stage: &Stage,
    asked: &[(String, usize)],
    before: &[Step],
    span: Range<usize>,
    raw: raw::Step,
) -> Read<Step> {
    let (kind, place) = (*raw.r#do.get_ref(), raw.r#do.span());
    let at = raw.at.as_ref().map(|at| moment(known, at)).transpose()?;
    let until = raw.until.as_ref().map(|until| moment(known, until)).transpose()?;
    let tweak = Tweak { seed: raw.seed, set: raw.set.clone(), acts: Vec::new() };
    stage.with(&tweak).map_err(|why| (span, why.to_string()))?;
    let (text, clause) = (raw.text.get_ref().clone(), raw.clause.clone());
    let told = Step { kind, text, at, until, clause, tweak, task: Task::Nothing };
    let count = usize::from(raw.choices.is_some())
        + usize::from(raw.number.is_some())
        + usize::from(raw.point.is_some())
        + usize::from(raw.order.is_some());
    match kind {
        Kind::Predict if at.is_none() => {
            wrong(place, "a prediction needs `at`: nothing that happens later is shown before it")
        }
        Kind::Predict | Kind::Observe if count == 1 => {
            Ok(Step { task: Task::Question(question(known, raw)?), ..told })
        }
        Kind::Predict | Kind::Observe => {
            wrong(place, "this step asks: it needs one of `choices`, `number`, `point`, `order`")
        }
        Kind::Exit => again(asked, before, place, &raw, told),
        Kind::Goal => Ok(Step { task: Task::Goal(goal(known, stage, place, raw)?), ..told }),
        _ if count > 0 || raw.goal.is_some() => {
            wrong(place, "this step asks nothing: leave the question out, or let it do `predict`")
        }
        Kind::Reveal if until.is_none() => {
            wrong(place, "a step that shows something needs `until`, in seconds")
        }
        _ => Ok(told),
    }
}

/// What was asked before, of another world.
fn again(
    asked: &[(String, usize)],
    before: &[Step],
    place: Range<usize>,
    raw: &raw::Step,
    told: Step,
) -> Read<Step> {
    let Some(same) = &raw.same_as else {
        return wrong(place, "an exit question names the step it asks again: `same_as`");
    };
    let found = asked.iter().find(|(id, _)| id == same.get_ref()).map(|(_, i)| &before[*i]);
    let Some(Step { task: Task::Question(question), at, until, .. }) = found else {
        return wrong(
            same.span(),
            format!("no step before has the id `{}` and asks", same.get_ref()),
        );
    };
    if told.tweak == Tweak::default() {
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
    Ok(Step { at, until, task: Task::Question(question), ..told })
}

fn question(known: &Known, raw: raw::Step) -> Read<Question> {
    let place = raw.r#do.span();
    let Some(right) = raw.right else {
        return wrong(place, "`right` is missing: what is said to whoever is right");
    };
    let of = match (raw.choices, raw.number, raw.point, raw.order) {
        (Some(choices), ..) => choice(known, choices, raw.varies)?,
        (_, Some(number), ..) => self::number(known, number)?,
        (_, _, Some(point), _) => self::point(known, point)?,
        (.., Some(order)) => self::order(known, order)?,
        _ => return wrong(place, "nothing is asked"),
    };
    let by_itself = matches!(of, Asked::Choice(_)) && !raw.varies;
    let Some(otherwise) = raw.otherwise.or(by_itself.then(String::new)) else {
        return wrong(place, "`otherwise` is missing: what is said to whoever is wrong");
    };
    Ok(Question { of, right, otherwise, varies: raw.varies })
}

fn choice(known: &Known, raw: Spanned<Vec<Spanned<raw::Choice>>>, varies: bool) -> Read<Asked> {
    let (span, raw) = (raw.span(), raw.into_inner());
    if !(2..=6).contains(&raw.len()) {
        return wrong(span, "a choice is of two to six sentences");
    }
    let choices = raw.into_iter().map(|one| {
        let raw::Choice { text, holds, wrong } = one.into_inner();
        Ok(Choice { text, holds: claim(known, holds)?, wrong })
    });
    let choices = choices.collect::<Read<Vec<Choice>>>()?;
    let right = choices.iter().filter(|choice| choice.wrong.is_none()).count();
    match (varies, right) {
        (false, 1) | (true, 0) => Ok(Asked::Choice(choices)),
        (false, _) => wrong(
            span,
            format!(
                "every choice but the right one has a `wrong` that says why it tempts; {right} have none"
            ),
        ),
        (true, _) => wrong(span, "the answer varies, so every choice needs a `wrong`"),
    }
}

fn number(known: &Known, raw: Spanned<raw::Number>) -> Read<Asked> {
    let (span, raw) = (raw.span(), raw.into_inner());
    let measure = match (raw.count, raw.time, raw.total) {
        (Some(of), None, None) => Measure::Count(pattern(known, of.into_inner())?),
        (None, Some(of), None) => Measure::Time(pattern(known, of.into_inner())?),
        (None, None, Some(name)) => Measure::Total(name),
        _ => return wrong(span, "a number is one of `count`, `time` and `total`"),
    };
    let wrong = raw.wrong.into_iter().map(|one| Tempting { answer: one.answer, why: one.why });
    Ok(Asked::Number { measure, slack: raw.slack, unit: raw.unit, wrong: wrong.collect() })
}

fn point(known: &Known, raw: Spanned<raw::Point>) -> Read<Asked> {
    let raw = raw.into_inner();
    let wrong = raw.wrong.into_iter().map(|one| {
        let answer = node(known, &one.answer)?;
        Ok(Tempting { answer, why: one.why })
    });
    let wrong = wrong.collect::<Read<Vec<_>>>()?;
    Ok(Asked::Point { pattern: pattern(known, raw.at.into_inner())?, about: raw.other, wrong })
}

fn order(known: &Known, raw: Spanned<Vec<Spanned<raw::Item>>>) -> Read<Asked> {
    let (span, raw) = (raw.span(), raw.into_inner());
    if !(2..=6).contains(&raw.len()) {
        return wrong(span, "an order is of two to six things");
    }
    let items = raw.into_iter().map(|one| {
        let raw::Item { text, first } = one.into_inner();
        Ok(Item { text, pattern: pattern(known, first.into_inner())? })
    });
    items.collect::<Read<Vec<Item>>>().map(Asked::Order)
}

fn goal(known: &Known, stage: &Stage, place: Range<usize>, raw: raw::Step) -> Read<Goal> {
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
        let raw::Setting { key, text, values } = one.into_inner();
        let span = key.span();
        let key = key.into_inner();
        for value in &values {
            let set = [(key.clone(), value.clone())].into_iter().collect();
            tried(stage, &Tweak { set, ..Tweak::default() }, span.clone())?;
        }
        settings.push(Setting { key, text, values });
    }
    let tweak = |raw: Spanned<raw::Tweak>| {
        let (span, raw::Tweak { acts, set }) = (raw.span(), raw.into_inner());
        let tweak = Tweak { acts, set, seed: None };
        tried(stage, &tweak, span)?;
        Ok(tweak)
    };
    let solution = tweak(goal.solution)?;
    let wrong =
        goal.wrong.into_iter().map(|one| Ok(Tempting { answer: tweak(one.answer)?, why: one.why }));
    let wrong = wrong.collect::<Read<Vec<_>>>()?;
    let (holds, unmet, budget) = (goal.holds, goal.unmet, goal.budget);
    let span = holds.span();
    let claim = claim(known, holds)?;
    let conditions = if let Claim::All(conditions) = &claim { conditions.len() } else { 0 };
    if !unmet.is_empty() && unmet.len() != conditions {
        return self::wrong(span, "`unmet` needs one sentence for each condition of `all`");
    }
    Ok(Goal { claim, budget, settings, right, otherwise, unmet, solution, wrong })
}

fn tried(stage: &Stage, tweak: &Tweak, span: Range<usize>) -> Read<()> {
    stage.with(tweak).map(|_| ()).map_err(|why| (span, why.to_string()))
}

fn claim(known: &Known, raw: Spanned<raw::Claim>) -> Read<Claim> {
    let (span, raw) = (raw.span(), raw.into_inner());
    let (least, most) = (raw.at_least, raw.at_most);
    let many = |list: Vec<Spanned<raw::Claim>>| {
        list.into_iter().map(|one| claim(known, one)).collect::<Read<Vec<Claim>>>()
    };
    match (raw.happens, raw.never, raw.total, raw.first, raw.then, raw.all, raw.any) {
        (Some(of), None, None, None, None, None, None) => {
            let least = least.map_or(u64::from(most.is_none()), |n| n as u64);
            let most = most.map_or(u64::MAX, |n| n as u64);
            Ok(Claim::Count { pattern: pattern(known, of)?, least, most })
        }
        (None, Some(of), None, None, None, None, None) => {
            Ok(Claim::Count { pattern: pattern(known, of)?, least: 0, most: 0 })
        }
        (None, None, Some(name), None, None, None, None) if least.or(most).is_some() => {
            let (least, most) = (least.unwrap_or(f64::MIN), most.unwrap_or(f64::MAX));
            Ok(Claim::Total { name, least, most })
        }
        (None, None, None, Some(first), Some(then), None, None) => {
            Ok(Claim::Before { first: pattern(known, first)?, then: pattern(known, then)? })
        }
        (None, None, None, None, None, Some(all), None) => many(all).map(Claim::All),
        (None, None, None, None, None, None, Some(any)) => many(any).map(Claim::Any),
        _ => wrong(
            span,
            "a claim is one of `happens`, `never`, `total` with `at_least` or `at_most`, `first` with `then`, `all`, `any`",
        ),
    }
}

fn pattern(known: &Known, raw: raw::Pattern) -> Read<Pattern> {
    let event = raw.event.get_ref();
    if event.split('.').filter(|part| !part.is_empty()).count() != 2 {
        return wrong(raw.event.span(), "an event is an area and what happens, as \"queue.lost\"");
    }
    if let Some(why) = (known.wrong_name)(&known.stage, event) {
        return wrong(raw.event.span(), why);
    }
    let name = |of: &Option<Spanned<String>>| of.as_ref().map(|of| node(known, of)).transpose();
    Ok(Pattern {
        event: event.clone(),
        node: name(&raw.node)?,
        about: name(&raw.about)?,
        with: raw.with,
        from: raw.from.as_ref().map(|from| moment(known, from)).transpose()?.unwrap_or_default(),
        by: raw.by.as_ref().map(|by| moment(known, by)).transpose()?,
    })
}

/// A node that there is.
fn node(known: &Known, name: &Spanned<String>) -> Read<String> {
    if known.names.iter().any(|known| known == name.get_ref()) {
        return Ok(name.get_ref().clone());
    }
    let some = known.names.iter().take(12).map(String::as_str).collect::<Vec<_>>().join(", ");
    wrong(name.span(), format!("there is no node `{}`; there are {some}", name.get_ref()))
}

/// An instant within the world's length.
fn moment(known: &Known, seconds: &Spanned<f64>) -> Read<Instant> {
    let at = instant(seconds)?;
    if at > Instant::ZERO + known.length {
        let length = known.length.as_micros() as f64 / 1e6;
        return wrong(seconds.span(), format!("the world ends after {length} s"));
    }
    Ok(at)
}

fn instant(seconds: &Spanned<f64>) -> Read<Instant> {
    let value = *seconds.get_ref();
    if !(0.0..1e9).contains(&value) {
        return wrong(seconds.span(), "an instant is in seconds from the beginning");
    }
    Ok(Instant::from_micros((value * 1e6 + 0.5) as u64))
}

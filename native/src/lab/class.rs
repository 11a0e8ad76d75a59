//! A class in a room: who is here and how they are, which step of a lesson they are
//! at, and what they have committed to.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use servent_core::time::{Duration, Instant};
use servent_sim::lesson::group::{Deeds, Facts, GroupKind, GroupLesson, GroupStep};

/// Pages that are remembered, and how long one is that says nothing any more.
const PAGES: usize = 256;
const REMEMBERED: Duration = Duration::from_secs(600);
/// Letters of a name; steps that a page can have committed in.
const NAME: usize = 64;
const STEPS: usize = 32;

/// What a page says of itself.
#[derive(Debug, Deserialize)]
pub(super) struct PageStatus {
    /// What its person is called here.
    name: String,
    /// For so many seconds it has not been touched.
    away: u32,
    /// It is hidden.
    hidden: bool,
    /// It is closed or loaded anew now.
    #[serde(default)]
    gone: bool,
    /// Which run of a lesson the rest is about.
    #[serde(default)]
    run: u64,
    /// The step it is at, where each goes at its own pace.
    #[serde(default)]
    step: usize,
    /// What was committed, by step.
    #[serde(default)]
    commits: BTreeMap<usize, usize>,
    /// What it shows, while the host has asked for that.
    #[serde(default)]
    shows: Option<Value>,
    /// What it has tried of the network.
    #[serde(default)]
    tried: Option<Tried>,
}

/// What a page has tried of the network.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
struct Tried {
    /// For so many seconds its line to the servent has been open.
    held: u32,
    /// It reaches another page directly; unknown while there is none.
    direct: Option<bool>,
}

#[derive(Debug)]
struct ClassPage {
    name: String,
    away: u32,
    hidden: bool,
    /// It said that it goes, and nothing since.
    gone: bool,
    heard: Instant,
    step: usize,
    commits: BTreeMap<usize, usize>,
    shows: Option<Value>,
    tried: Option<Tried>,
}

/// A lesson that is going on.
#[derive(Debug)]
struct Going {
    lesson: GroupLesson,
    run: u64,
    step: usize,
    own_pace: bool,
    /// When the class began to do it, which is what the recording is asked about.
    since: Instant,
    facts: Option<Facts>,
    /// Bytes a second of all uploads of the room's servent, while it limits them.
    rate: Option<u32>,
}

/// All pages, and the lesson.
#[derive(Debug, Default)]
pub(super) struct Class {
    pages: BTreeMap<SocketAddrV4, ClassPage>,
    going: Option<Going>,
    /// How the room was set up when the lesson began.
    before: Option<Deeds>,
    runs: u64,
    /// The page that is shown to the class.
    mirrored: Option<SocketAddrV4>,
}

impl Class {
    /// Begins a lesson, or ends one.
    pub(super) fn begin(&mut self, lesson: Option<GroupLesson>, now: Instant) {
        self.runs += 1;
        self.pages.values_mut().for_each(|page| page.commits.clear());
        let run = self.runs;
        self.going = lesson.map(|lesson| Going {
            lesson,
            run,
            step: 0,
            own_pace: false,
            since: now,
            facts: None,
            rate: None,
        });
    }

    /// Remembers how the room is set up before a lesson changes that.
    pub(super) fn keep(&mut self, before: Deeds) {
        self.before = Some(before);
    }

    /// What the lesson that ends has to give back.
    pub(super) fn give_back(&mut self) -> Option<Deeds> {
        self.before.take()
    }

    /// The host has set something during the lesson: that stays.
    pub(super) fn chose(&mut self, leave: impl FnOnce(&mut Deeds)) {
        if let Some(before) = &mut self.before {
            leave(before);
        }
    }

    /// The lesson limits uploads from now on.
    pub(super) fn limited(&mut self, rate: u32) {
        if let Some(going) = &mut self.going {
            going.rate = Some(rate);
        }
    }

    /// Goes to a step; what is to be set up there, and whether the recording is to
    /// be asked.
    pub(super) fn go(&mut self, step: usize, now: Instant) -> Option<(GroupStep, bool)> {
        let going = self.going.as_mut()?;
        let wanted = going.lesson.steps.get(step)?.clone();
        if wanted.kind == GroupKind::Reveal && going.step < step {
            (going.since, going.facts) = (now, None);
        }
        going.step = step;
        let asks = wanted.kind == GroupKind::Explain && going.facts.is_none();
        Some((wanted, asks))
    }

    pub(super) fn at_own_pace(&mut self, own: bool) {
        self.going.iter_mut().for_each(|going| going.own_pace = own);
    }

    /// From when on the recording is asked what the class did; which run that is.
    pub(super) fn since(&self) -> Option<(u64, Instant)> {
        self.going.as_ref().map(|going| (going.run, going.since))
    }

    /// What the recording has said.
    pub(super) fn tell(&mut self, run: u64, facts: Facts) {
        if let Some(going) = self.going.as_mut().filter(|going| going.run == run) {
            going.facts = Some(facts);
        }
    }

    /// Shows one page to the class, or none.
    pub(super) fn mirror(&mut self, whose: Option<SocketAddrV4>) {
        self.mirrored = whose;
        self.pages.values_mut().for_each(|page| page.shows = None);
    }

    /// Forgets all pages.
    pub(super) fn forget(&mut self) {
        self.pages.clear();
        self.mirrored = None;
    }

    /// A page says how it is. What was committed once stays.
    pub(super) fn receive(&mut self, at: SocketAddrV4, said: PageStatus, now: Instant) {
        self.pages.retain(|_, page| now.since(page.heard) < REMEMBERED);
        if said.gone {
            // What it has committed to stays: it may be loaded anew.
            self.pages.entry(at).and_modify(|page| page.gone = true);
            return;
        }
        if self.pages.len() >= PAGES && !self.pages.contains_key(&at) {
            return;
        }
        let page = self.pages.entry(at).or_insert_with(|| ClassPage {
            name: String::new(),
            away: 0,
            hidden: false,
            gone: false,
            heard: now,
            step: 0,
            commits: BTreeMap::new(),
            shows: None,
            tried: None,
        });
        page.name = said.name.chars().filter(|c| !c.is_control()).take(NAME).collect();
        (page.away, page.hidden, page.gone, page.heard, page.step) =
            (said.away, said.hidden, false, now, said.step.min(STEPS));
        page.tried = said.tried;
        page.shows = said.shows.filter(|_| self.mirrored == Some(at));
        let Some(going) = self.going.as_ref().filter(|going| going.run == said.run) else { return };
        for (step, choice) in said.commits {
            let open = step <= going.step || going.own_pace;
            let choices = going.lesson.steps.get(step).map_or(0, |step| step.choices.len());
            if open && choice < choices {
                page.commits.entry(step).or_insert(choice);
            }
        }
    }

    /// What a page is told: where the class is, and of what others have said only
    /// what the class cannot follow any more.
    pub(super) fn shown(&self, at: SocketAddrV4) -> Value {
        let commits = self.pages.get(&at).map(|page| &page.commits);
        json!({
            "lesson": self.going.as_ref().map(|going| going.shown(&self.pages, false)),
            "commits": commits,
            "mirrored": self.mirrored == Some(at),
        })
    }

    /// What the screen in front of the class shows.
    pub(super) fn projected(&self) -> Value {
        let whose = self.mirrored.and_then(|at| self.pages.get(&at));
        json!({
            "lesson": self.going.as_ref().map(|going| going.shown(&self.pages, false)),
            "mirror": whose.map(|page| json!({ "name": page.name, "shows": page.shows })),
        })
    }

    /// Whether a page that is here has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.pages.values().any(|page| !page.gone && page.name == name)
    }

    /// What the screen may show of each page: who is here, and not how it does.
    pub(super) fn names(&self, now: Instant) -> Value {
        let here = self.pages.iter().filter(|(_, page)| !page.gone);
        let pages: Vec<Value> = here
            .map(|(at, page)| {
                json!({
                    "at": at, "name": page.name, "away": page.away, "hidden": page.hidden,
                    "quiet": now.since(page.heard).as_micros() / 1_000_000,
                })
            })
            .collect();
        json!({ "pages": pages })
    }

    /// What the host alone sees.
    pub(super) fn private(&self, now: Instant) -> Value {
        let going = self.going.as_ref();
        let pages: Vec<Value> = self
            .pages
            .iter()
            .filter(|(_, page)| !page.gone)
            .map(|(at, page)| {
                json!({
                    "at": at, "name": page.name, "away": page.away, "hidden": page.hidden,
                    "quiet": now.since(page.heard).as_micros() / 1_000_000,
                    "step": page.step, "commits": page.commits,
                    "tried": page.tried,
                    "wrong_twice": going.is_some_and(|going| going.wrong_twice(page)),
                })
            })
            .collect();
        json!({
            "pages": pages, "mirrored": self.mirrored,
            "lesson": going.map(|going| going.shown(&self.pages, true)),
        })
    }
}

impl Going {
    /// Where it stands. Before all are done with a question only the host
    /// sees what others have said.
    fn shown(&self, pages: &BTreeMap<SocketAddrV4, ClassPage>, to_host: bool) -> Value {
        let steps = self.lesson.steps.iter().enumerate().filter(|(_, it)| !it.choices.is_empty());
        let open = steps.filter(|(n, _)| to_host || self.step > self.last_of(*n));
        let tally: BTreeMap<usize, Vec<usize>> = open
            .map(|(n, step)| {
                let said =
                    |choice| pages.values().filter(|p| p.commits.get(&n) == Some(&choice)).count();
                (n, (0..step.choices.len()).map(said).collect())
            })
            .collect();
        let told = self.facts.as_ref().filter(|_| to_host || self.is_told());
        let truth: BTreeMap<usize, Option<usize>> = told
            .map(|facts| tally.keys().map(|n| (*n, self.lesson.truth(*n, facts))).collect())
            .unwrap_or_default();
        json!({
            "id": self.lesson.id, "run": self.run, "step": self.step, "own": self.own_pace,
            "tally": tally, "truth": truth, "facts": told, "since": self.since.as_micros(),
            "rate": self.rate,
        })
    }

    /// What happened is told when it is explained, and not before.
    fn is_told(&self) -> bool {
        self.lesson.steps.iter().take(self.step + 1).any(|step| step.kind == GroupKind::Explain)
    }

    /// The last step in which the question of this one is asked.
    fn last_of(&self, step: usize) -> usize {
        let rest = self.lesson.steps.iter().enumerate().skip(step);
        let mut again = rest.filter(|(_, it)| it.kind == GroupKind::Again);
        match self.lesson.steps[step].kind {
            GroupKind::Predict => again.next().map_or(step, |(n, _)| n),
            _ => step,
        }
    }

    /// A member was wrong before and after the discussion.
    fn wrong_twice(&self, page: &ClassPage) -> bool {
        let Some(facts) = &self.facts else { return false };
        let wrong = |kind| {
            self.lesson.steps.iter().enumerate().any(|(n, step)| {
                let truth = self.lesson.truth(n, facts);
                step.kind == kind
                    && truth.is_some()
                    && page.commits.get(&n).is_some_and(|said| Some(*said) != truth)
            })
        };
        wrong(GroupKind::Predict) && wrong(GroupKind::Again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use servent_sim::lesson::group::group_in;

    const NOW: Instant = Instant::from_secs(1_000);

    fn at(n: u8) -> SocketAddrV4 {
        SocketAddrV4::new([240, 0, 0, n].into(), 5_000)
    }

    fn said(run: u64, commits: &[(usize, usize)]) -> PageStatus {
        PageStatus {
            name: "calm otter".into(),
            away: 3,
            hidden: false,
            gone: false,
            run,
            step: 0,
            commits: commits.iter().copied().collect(),
            shows: Some(json!({ "words": "secret" })),
            tried: None,
        }
    }

    fn begun() -> Class {
        let mut class = Class::default();
        class.begin(group_in("the-line", "en"), NOW);
        class
    }

    #[test]
    fn wb_9_no_page_sees_what_others_predict_before_the_second_commit() {
        let mut class = begun();
        class.go(1, NOW);
        class.receive(at(1), said(1, &[(1, 0)]), NOW);
        class.receive(at(2), said(1, &[(1, 1)]), NOW);
        for step in [1, 2, 3] {
            class.go(step, NOW);
            assert_eq!(class.shown(at(1))["lesson"]["tally"], json!({}), "step {step}");
            assert_eq!(class.projected()["lesson"]["tally"], json!({}), "step {step}");
            assert_eq!(class.private(NOW)["lesson"]["tally"]["1"], json!([1, 1]));
        }
        class.receive(at(2), said(1, &[(3, 0)]), NOW);
        class.go(4, NOW);
        let tally = json!({ "1": [1, 1], "3": [1, 0] });
        assert_eq!(class.shown(at(1))["lesson"]["tally"], tally);
    }

    #[test]
    fn wb_9_what_was_committed_stays_and_a_step_that_is_ahead_is_closed() {
        let mut class = begun();
        class.go(1, NOW);
        // Later steps, sentences that there are not, and another run say nothing.
        class.receive(at(1), said(1, &[(1, 0), (3, 0), (5, 0)]), NOW);
        class.receive(at(1), said(1, &[(1, 1)]), NOW);
        class.receive(at(2), said(1, &[(1, 9)]), NOW);
        class.receive(at(3), said(7, &[(1, 1)]), NOW);
        assert_eq!(class.private(NOW)["lesson"]["tally"]["1"], json!([1, 0]));
        assert_eq!(class.shown(at(1))["commits"], json!({ "1": 0 }));
        class.at_own_pace(true);
        class.receive(at(1), said(1, &[(3, 1)]), NOW);
        assert_eq!(class.private(NOW)["lesson"]["tally"]["3"], json!([0, 1]));
        class.begin(None, NOW);
        assert_eq!(class.shown(at(1))["lesson"], Value::Null);
    }

    #[test]
    fn wb_9_the_host_sees_who_is_away_and_who_was_wrong_twice() {
        let mut class = begun();
        class.go(4, NOW);
        class.receive(at(1), said(1, &[(1, 0), (3, 0)]), NOW);
        class.receive(at(2), said(1, &[(1, 0), (3, 1)]), NOW);
        assert!(class.go(6, NOW).unwrap().1, "the recording is asked");
        class.tell(1, Facts::from_iter([("idle", 9.0)]));
        let later = NOW + Duration::from_secs(9);
        let pages = &class.private(later)["pages"];
        assert_eq!(
            (&pages[0]["wrong_twice"], &pages[1]["wrong_twice"]),
            (&json!(true), &json!(false))
        );
        assert_eq!((&pages[0]["away"], &pages[0]["quiet"]), (&json!(3), &json!(9)));
        assert_eq!(class.shown(at(1))["lesson"]["truth"]["1"], json!(1));
        class.go(4, NOW);
        assert_eq!(class.shown(at(1))["lesson"]["truth"], json!({}), "it is not told any more");
    }

    #[test]
    fn wb_9_a_page_that_goes_is_listed_no_more_and_keeps_what_it_committed_to() {
        let mut class = begun();
        class.go(1, NOW);
        class.receive(at(1), said(1, &[(1, 0)]), NOW);
        class.receive(at(1), PageStatus { gone: true, ..said(1, &[]) }, NOW);
        // A member that was never here cannot go.
        class.receive(at(2), PageStatus { gone: true, ..said(1, &[]) }, NOW);
        assert_eq!(class.private(NOW)["pages"], json!([]));
        assert_eq!(class.private(NOW)["lesson"]["tally"]["1"], json!([1, 0]));
        class.receive(at(1), said(1, &[]), NOW);
        assert_eq!(class.private(NOW)["pages"].as_array().map(Vec::len), Some(1));
        assert_eq!(class.shown(at(1))["commits"], json!({ "1": 0 }));
    }

    #[test]
    fn wb_9_only_the_page_that_is_mirrored_is_shown() {
        let mut class = Class::default();
        class.receive(at(1), said(0, &[]), NOW);
        assert_eq!(class.projected()["mirror"], Value::Null);
        class.mirror(Some(at(2)));
        for n in [1, 2] {
            class.receive(at(n), said(0, &[]), NOW);
        }
        assert_eq!(class.shown(at(2))["mirrored"], json!(true));
        assert_eq!(class.projected()["mirror"]["shows"]["words"], json!("secret"));
        assert!(class.pages[&at(1)].shows.is_none());
        class.mirror(None);
        assert!(class.pages[&at(2)].shows.is_none());
    }

    #[test]
    fn wb_6_no_more_pages_are_remembered_than_there_may_be() {
        let mut class = Class::default();
        for n in 0..=PAGES as u16 {
            let at = SocketAddrV4::new([240, 0, (n >> 8) as u8, n as u8].into(), 5_000);
            class.receive(at, said(0, &[]), NOW);
        }
        assert_eq!(class.pages.len(), PAGES);
        class.receive(at(9), said(0, &[]), NOW + REMEMBERED);
        assert_eq!(class.pages.len(), 1, "those who are gone are forgotten");
    }
}

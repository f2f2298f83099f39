//! The claim protocol as a model of which every interleaving is tried: two claimers that may die at any step, a
//! cleaner, and a person who takes a task away once and saves an old version of its file once, at any moment.
//!
//! A stopped process is one whose next step comes late, and every step may. Each protection of the protocol is
//! also left out once: then the checker must find how it goes wrong.

use stateright::{Checker, Model, Property};

const CLAIMERS: usize = 2;
/// So many claims are made at most.
const TURNS: u8 = 4;

/// A number; sets of them are bits.
type Turn = u8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Status {
    Pending,
    Held(Turn),
    Completed,
}

/// What the task's file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct File {
    status: Status,
    /// The turns of which it says that they have ended.
    attempts: u8,
    /// Whether it bears the person's edit.
    edited: bool,
}

const FRESH: File = File { status: Status::Pending, attempts: 0, edited: false };

/// What a claimer has done last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Idle,
    Looked,
    Locked,
    Read,
    Named,
    Exchanged,
    Journaled,
    Unlocked,
    Working,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Claimer {
    alive: bool,
    step: Step,
    /// The turn that it takes to be its own.
    turn: Option<Turn>,
    /// Whether it ends that turn now; else it begins one.
    finishing: bool,
    /// The turn in its presence record.
    named: Option<Turn>,
    /// The file as it last read it.
    base: File,
}

/// What is there, and what has happened, which nobody in the model can ask for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    file: File,
    lock: Option<usize>,
    /// The turns that the journal says have ended.
    journal: u8,
    claimers: [Claimer; CLAIMERS],
    /// Whose each turn is.
    owners: Vec<usize>,
    cleaner: Cleaner,
    may_force: bool,
    may_save: bool,
    /// What the person has in the editor.
    editor: File,
    /// The turns that have ended.
    over: u8,
    /// Completions since the person last put a fresh task there.
    completions: u8,
    happened: Happened,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Cleaner {
    Idle,
    Locked { force: bool },
    Returned(Option<Turn>),
}

/// The lock's holder where that is the cleaner.
const CLEANER: usize = CLAIMERS;

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Happened {
    edit_lost: bool,
    living_said_lost: bool,
    late_finish_accepted: bool,
    late_finish_refused: bool,
    lost: bool,
    claimed_again: bool,
    restored: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Step(usize),
    Die(usize),
    Clean,
    Force,
    Open,
    Save,
    DropAnew,
}

/// The protocol, with one protection left out or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Whole,
    WithoutReReading,
    WithoutLookingAtTheDisplaced,
    NamingAfterUnlocking,
    WithoutTurnCheck,
    WithoutJournal,
    WithoutAskingWhoLives,
}

impl State {
    /// What everybody does first under the lock: a claim that was saved over is put back where its holder lives.
    fn restore(&mut self) {
        for claimer in self.claimers.into_iter().filter(|claimer| claimer.alive) {
            let Some(turn) = claimer.named.filter(|turn| (self.file.attempts | self.journal) & (1 << turn) == 0) else { continue };
            let held = match self.file.status {
                Status::Pending => false,
                Status::Held(other) => other == turn || self.journal & (1 << other) == 0,
                Status::Completed => true,
            };
            if !held {
                self.file.status = Status::Held(turn);
                self.happened.restored = true;
            }
        }
    }

    fn end(&mut self, turn: Turn) {
        self.file.attempts |= 1 << turn;
        self.over |= 1 << turn;
    }

    fn save(&mut self, saved: File) {
        self.may_save = false;
        if self.file.status == Status::Completed {
            self.completions = 0;
        }
        self.file = File { edited: true, ..saved };
    }
}

impl Protocol {
    fn step(self, state: &mut State, who: usize) -> Option<()> {
        let mut me = state.claimers[who];
        me.step = match me.step {
            Step::Idle if state.file.status == Status::Pending && state.owners.len() < usize::from(TURNS) => {
                me.base = state.file;
                Step::Looked
            }
            Step::Looked if state.lock.is_none() => {
                state.lock = Some(who);
                Step::Locked
            }
            Step::Idle | Step::Looked => return None,
            Step::Locked => {
                if self != Protocol::WithoutReReading || me.finishing {
                    state.restore();
                    me.base = state.file;
                }
                match self.changed(me.base, &me) {
                    Some(_) => Step::Read,
                    None => refused(state, &mut me),
                }
            }
            Step::Read if !me.finishing => {
                let turn = Turn::try_from(state.owners.len()).unwrap();
                state.owners.push(who);
                me.turn = Some(turn);
                if self != Protocol::NamingAfterUnlocking {
                    me.named = me.turn;
                }
                Step::Named
            }
            Step::Read | Step::Named => {
                // What the exchange displaces is seen; where it is not what was read, the change is made anew on it.
                let blind = matches!(self, Protocol::WithoutReReading | Protocol::WithoutLookingAtTheDisplaced);
                match self.changed(if blind { me.base } else { state.file }, &me) {
                    Some(file) => {
                        exchange(state, &me, file);
                        Step::Exchanged
                    }
                    None => refused(state, &mut me),
                }
            }
            Step::Exchanged => {
                if me.finishing && self != Protocol::WithoutJournal {
                    state.journal |= 1 << me.turn?;
                }
                Step::Journaled
            }
            Step::Journaled => {
                state.lock = None;
                if me.finishing {
                    // The record forgets the turn at its next writing only.
                    (me.turn, me.finishing) = (None, false);
                }
                if me.turn.is_some() { Step::Unlocked } else { Step::Idle }
            }
            Step::Unlocked => {
                me.named = me.turn;
                Step::Working
            }
            Step::Working => {
                me.finishing = true;
                Step::Looked
            }
        };
        state.claimers[who] = me;
        Some(())
    }

    /// What a claimer makes of the file. `None`: refused.
    fn changed(self, file: File, me: &Claimer) -> Option<File> {
        match (file.status, me.turn) {
            (Status::Pending, _) if !me.finishing => Some(File { status: Status::Held(me.turn.unwrap_or(TURNS)), ..file }),
            (status, Some(mine)) if me.finishing && (status == Status::Held(mine) || self == Protocol::WithoutTurnCheck) => {
                Some(File { status: Status::Completed, ..file })
            }
            _ => None,
        }
    }

    fn clean(self, state: &mut State, force: bool) -> Option<()> {
        state.cleaner = match state.cleaner {
            Cleaner::Idle if state.lock.is_none() && matches!(state.file.status, Status::Held(_)) => {
                state.may_force &= !force;
                state.lock = Some(CLEANER);
                Cleaner::Locked { force }
            }
            Cleaner::Idle => return None,
            Cleaner::Locked { force } => {
                state.restore();
                let alive = |turn: Turn| state.claimers[state.owners[usize::from(turn)]].alive;
                match state.file.status {
                    Status::Held(turn) if force || !alive(turn) || self == Protocol::WithoutAskingWhoLives => {
                        state.happened.lost |= !force;
                        state.happened.living_said_lost |= !force && alive(turn);
                        state.file.status = Status::Pending;
                        state.end(turn);
                        Cleaner::Returned(Some(turn))
                    }
                    _ => Cleaner::Returned(None),
                }
            }
            Cleaner::Returned(turn) => {
                state.journal |= turn.filter(|_| self != Protocol::WithoutJournal).map_or(0, |turn| 1 << turn);
                state.lock = None;
                Cleaner::Idle
            }
        };
        Some(())
    }
}

fn exchange(state: &mut State, me: &Claimer, file: File) {
    state.happened.edit_lost |= state.file.edited && !file.edited;
    state.file = file;
    let Some(turn) = me.turn else { return };
    if me.finishing {
        state.happened.late_finish_accepted |= state.over & (1 << turn) != 0;
        state.completions += 1;
        state.end(turn);
    } else {
        state.happened.claimed_again |= state.happened.lost;
    }
}

fn refused(state: &mut State, me: &mut Claimer) -> Step {
    if me.finishing {
        state.happened.late_finish_refused = true;
    } else {
        // A turn that never began must not stay in the record.
        me.named = me.named.filter(|_| me.turn.is_none());
        me.turn = None;
    }
    Step::Journaled
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let claimer = Claimer { alive: true, step: Step::Idle, turn: None, finishing: false, named: None, base: FRESH };
        vec![State {
            file: FRESH,
            lock: None,
            journal: 0,
            claimers: [claimer; CLAIMERS],
            owners: Vec::new(),
            cleaner: Cleaner::Idle,
            may_force: true,
            may_save: true,
            editor: FRESH,
            over: 0,
            completions: 0,
            happened: Happened::default(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for who in (0..CLAIMERS).filter(|&who| state.claimers[who].alive) {
            actions.extend([Action::Step(who), Action::Die(who)]);
        }
        actions.push(Action::Clean);
        if state.may_force && state.cleaner == Cleaner::Idle {
            actions.push(Action::Force);
        }
        if state.may_save {
            actions.extend([Action::Save, Action::DropAnew]);
            // A version that says who holds it brings that back: the person's will, whatever came of the turn.
            if state.file.status == Status::Pending && state.editor != state.file {
                actions.push(Action::Open);
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Step(who) => self.step(&mut state, who)?,
            Action::Die(who) => {
                state.claimers[who] = Claimer { alive: false, step: Step::Idle, turn: None, finishing: false, named: None, base: FRESH };
                state.lock = state.lock.filter(|holder| *holder != who);
            }
            Action::Clean => self.clean(&mut state, false)?,
            Action::Force => self.clean(&mut state, true)?,
            Action::Open => state.editor = state.file,
            Action::Save => state.save(before.editor),
            Action::DropAnew => state.save(FRESH),
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_COMPLETION, |_, state: &State| state.completions <= 1),
            Property::always(ONE_HOLDER, |_, state: &State| {
                let holds = |claimer: &&Claimer| {
                    let began = matches!(claimer.step, Step::Exchanged | Step::Journaled | Step::Unlocked | Step::Working) || claimer.finishing;
                    began && claimer.turn.is_some_and(|turn| state.over & (1 << turn) == 0)
                };
                state.claimers.iter().filter(holds).count() <= 1
            }),
            Property::always(NO_LATE_FINISH, |_, state: &State| !state.happened.late_finish_accepted),
            Property::always(NO_LIVING_LOST, |_, state: &State| !state.happened.living_said_lost),
            Property::always(NO_EDIT_LOST, |_, state: &State| !state.happened.edit_lost),
            Property::sometimes("a task is completed", |_, state: &State| state.completions == 1),
            Property::sometimes("a lost task is claimed again", |_, state: &State| state.happened.claimed_again),
            Property::sometimes("a lost task is completed", |_, state: &State| state.happened.claimed_again && state.completions == 1),
            Property::sometimes("a late finish is refused", |_, state: &State| state.happened.late_finish_refused),
            Property::sometimes("a claim that was saved over is restored", |_, state: &State| state.happened.restored),
        ]
    }
}

const ONE_COMPLETION: &str = "one completion of a task";
const ONE_HOLDER: &str = "one holder at a time";
const NO_LATE_FINISH: &str = "a finish whose turn is over is refused";
const NO_LIVING_LOST: &str = "no living holder is said to be lost";
const NO_EDIT_LOST: &str = "no edit is lost";

#[test]
fn the_protocol_holds_in_every_interleaving() {
    let checked = Protocol::Whole.checker().threads(1).spawn_bfs().join();
    checked.assert_properties();
}

#[test]
fn each_protection_is_needed() {
    for (protocol, violated) in [
        (Protocol::WithoutReReading, ONE_HOLDER),
        (Protocol::WithoutReReading, ONE_COMPLETION),
        (Protocol::WithoutLookingAtTheDisplaced, NO_EDIT_LOST),
        (Protocol::NamingAfterUnlocking, ONE_HOLDER),
        (Protocol::WithoutTurnCheck, NO_LATE_FINISH),
        (Protocol::WithoutTurnCheck, ONE_COMPLETION),
        (Protocol::WithoutJournal, NO_LATE_FINISH),
        (Protocol::WithoutAskingWhoLives, NO_LIVING_LOST),
    ] {
        let found = stateright::HasDiscoveries::AllOf([violated].into());
        let checked = protocol.checker().threads(1).finish_when(found).spawn_bfs().join();
        assert!(checked.discovery(violated).is_some(), "{protocol:?}: {violated} all the same");
    }
}

//! `crew spawn`: starts teammates.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::rc::Rc;
use std::time::{Duration, Instant};

use board::name::Name;
use board::place::Place;
use board::presence;
use board::run::Run;
use teammates::profile::{self, Origin, Profile, Runner};
use teammates::teammate::Teammate;
use teammates::waits::Waits;
use teammates::workplace::Workplace;
use tokio::task::LocalSet;

use crate::arming::{self, Consent, Scope};
use crate::claimants;
use crate::config;
use crate::context::Context;
use crate::exit::{Exit, Failure, start};
use crate::interrupt;
use crate::log::{self, Log};
use crate::machine;
use crate::run::at_work;
use crate::thinking;

/// Start a teammate: it claims tasks, works, waits for more, and ends after a minute with nothing to do.
///
/// Its file is .crew/teammates/NAME.md; without one it has the defaults, and executes tasks that have a command.
/// Prints the names of the teammates that have begun, one a line.
#[derive(Debug, clap::Args)]
pub(crate) struct Spawn {
    /// Its name
    name: Name,
    /// What performs its turns, instead of what its file says
    #[arg(long)]
    runner: Option<String>,
    /// Its file, instead of .crew/teammates/NAME.md; .claude/agents/*.md are read as they are
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Stay in the foreground, with its log on the terminal
    #[arg(long)]
    foreground: bool,
    /// Start so many, called NAME-1, NAME-2 …
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000), conflicts_with = "foreground")]
    count: Option<u16>,
    /// Record what its model is asked and says, for `runner: script` to play again
    #[arg(long, value_name = "FILE", conflicts_with = "count")]
    record: Option<PathBuf>,
    /// Run what the repository's files bring without asking
    #[arg(short, long)]
    yes: bool,

    /// For a run, and as long as that is at work
    #[arg(long, hide = true)]
    hired: bool,
}

/// How long a teammate may take to begin.
const BEGIN: Duration = Duration::from_secs(20);

impl Spawn {
    /// Runs the verb.
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut board = context.board()?;
        let profile = self.profile(board.place(), &self.name)?;
        if profile.runner != Runner::Command && !profile.thinks() {
            let message = format!("{}: there is no runner {}", profile.name, profile.runner);
            return Err(refused(message));
        }
        if !self.foreground {
            // Said here, and not only in the log of a process of its own.
            thinking::check(board.place(), &profile)?;
        }
        let waits = config::apply(&mut board)?;
        let consent = match self.hired {
            // Nobody is there to be asked: what was allowed is on record, and what comes later is not.
            true => arming::on_record(&mut board)?,
            false => {
                let voice = context.voice(&board, self.yes)?;
                arming::allow(&mut board, Scope::Everything, voice, "crew spawn", self.from.as_deref())?
            }
        };
        if self.record.is_some() && !profile.thinks() {
            return Err(refused(format!("{}: there is nothing to record: its runner is no model", profile.name)));
        }
        match self.foreground {
            true => self.live(context, Workplace::open(board).map_err(start)?, profile, waits, consent),
            false => self.detach(context, &board),
        }
    }

    fn profile(&self, place: &Place, name: &Name) -> Result<Profile, Failure> {
        let file = self.from.clone().unwrap_or_else(|| place.profile(name));
        let mut profile = match claimants::read_profile(&file, origin(&file))? {
            Some(profile) => profile,
            None if self.from.is_none() => Profile::named(name.as_str()).map_err(board::Error::from)?,
            None => return Err(Failure::Usage(format!("there is no file {}", file.display()))),
        };
        profile.name = name.clone();
        if let Some(runner) = &self.runner {
            profile.runner = profile::runner(runner).map_err(|rule| Failure::Usage(format!("--runner {runner:?}: {rule}")))?;
        }
        Ok(profile)
    }

    fn detach(&self, context: &Context, board: &board::Board) -> Result<Exit, Failure> {
        let names = match self.count {
            None => vec![self.name.clone()],
            Some(count) => (1..=count).map(|number| Name::new(&format!("{}-{number}", self.name))).collect::<Result<_, _>>().map_err(board::Error::from)?,
        };
        // Before any of them begins, so that none has to be ended again.
        if let Some(taken) = names.iter().find(|name| board.lives(name)) {
            let seen = board.teammates()?.into_iter().find(|seen| seen.name == *taken).and_then(|seen| seen.record);
            let holder = seen.map_or_else(|| "another process".into(), |record| record.process.to_string());
            return Err(board::Error::NameTaken { name: taken.to_string(), holder }.into());
        }
        let mut begun = Vec::new();
        for name in &names {
            let log = board.place().teammate_logs()?.open_append(&format!("{name}.log"), 0o600)?;
            let child = teammates::detach::start(&machine::program().map_err(start)?, &self.arguments(name, board.place()), &log).map_err(start)?;
            begun.push((name, child));
        }
        let deadline = Instant::now() + BEGIN;
        for (name, mut child) in begun {
            wait_until_present(board, name, &mut child, deadline)?;
            context.print(name)?;
        }
        Ok(Exit::DONE)
    }

    fn arguments(&self, name: &Name, place: &Place) -> Vec<OsString> {
        let mut arguments: Vec<OsString> =
            vec!["-C".into(), place.project().into(), "spawn".into(), name.as_str().into(), "--foreground".into(), "--yes".into()];
        // What was allowed is what is read: the file of the first holds for all of --count.
        let file = self.from.clone().or_else(|| Some(place.profile(&self.name)).filter(|file| file.exists()));
        if let Some(file) = file {
            arguments.extend(["--from".into(), std::path::absolute(&file).unwrap_or(file).into()]);
        }
        if let Some(runner) = &self.runner {
            arguments.extend(["--runner".into(), runner.into()]);
        }
        if let Some(file) = &self.record {
            arguments.extend(["--record".into(), std::path::absolute(file).unwrap_or_else(|_| file.clone()).into()]);
        }
        arguments
    }
}

fn origin(file: &Path) -> Origin {
    let claude = file.parent().is_some_and(|parent| parent.ends_with(".claude/agents"));
    if claude { Origin::ClaudeAgent } else { Origin::Crew }
}

impl Spawn {
    fn live(&self, context: &Context, workplace: Workplace, profile: Profile, waits: Waits, consent: Consent) -> Result<Exit, Failure> {
        let hired = self.hired;
        let thinking = thinking::of(&workplace, &profile, self.record.as_deref())?;
        forget_limits(&workplace, hired)?;
        log::begin(Log::Diary);
        let runtime = machine::runtime().map_err(start)?;
        LocalSet::new().block_on(&runtime, async {
            let (told, interrupted) = (interrupt::told().map_err(start)?, Rc::new(Cell::new(false)));
            let flag = Rc::clone(&interrupted);
            let told = async move {
                told.await;
                flag.set(true);
            };
            let name = profile.name.clone();
            let place = workplace.place().clone();
            let teammate = Teammate::enter(workplace, profile, waits, Box::new(consent), thinking, machine::events())?;
            if hired {
                teammate.say_hired()?;
                // The run may have been stopped since it asked for this.
                if !at_work::is_at_work(&Run::of(&place)?)? {
                    return Ok(Exit::DONE);
                }
            }
            context.say(format!("{name} is at work"));
            teammate.live(told).await?;
            context.say(format!("{name} has shut down"));
            Ok(if interrupted.get() { Exit::INTERRUPTED } else { Exit::DONE })
        })
    }
}

/// What is known of limits of models is the run's; where none is at work and nobody else is, it is found out anew.
fn forget_limits(workplace: &Workplace, hired: bool) -> Result<(), Failure> {
    let run = Run::of(workplace.place())?;
    let alone = !hired && !workplace.board().teammates()?.iter().any(|seen| seen.living);
    if alone && !at_work::is_at_work(&run)? {
        run.limits.discard()?;
    }
    Ok(())
}

/// Waits until a teammate has its name, or has ended without it.
fn wait_until_present(board: &board::Board, name: &Name, child: &mut Child, deadline: Instant) -> Result<(), Failure> {
    let pid = child.id();
    let is_present = || board.teammates().is_ok_and(|all| all.iter().any(|seen| is_process(seen, name, pid)));
    loop {
        if is_present() {
            return Ok(());
        }
        let ended = child.try_wait().map_err(start)?;
        if ended.is_some() || Instant::now() > deadline {
            // It may have come, found nothing to do for its idle time, and gone.
            if ended.is_some_and(|status| status.success()) {
                return Ok(());
            }
            let log = board.place().teammate_log(name);
            let said = std::fs::read_to_string(&log).ok().and_then(|text| text.lines().next_back().map(|line| format!(": {line}"))).unwrap_or_default();
            return Err(Failure::Failed(format!("{name} did not begin{said} (its log is {})", log.display())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_process(seen: &presence::Seen, name: &Name, pid: u32) -> bool {
    seen.name == *name && seen.living && seen.record.as_ref().is_some_and(|record| record.process.pid == pid)
}

fn refused(message: impl Into<String>) -> Failure {
    Failure::Refused { rule: "spawn", message: message.into() }
}

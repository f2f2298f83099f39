//! Puts the machine to sleep when a run has ended and nobody else needs it (`suspendOnCompletion`).

use std::ffi::OsString;
use std::io;
use std::path::Path;

use board::disk::Dir;
use board::run::{Run, State};
use teammates::detach;

use crate::rules::suspend::{self, Others};

/// Suspends it, if the rules allow that. What hinders is said, and nothing else comes of it.
pub(super) fn suspend(run: &Run, state: &State) {
    let others = Others { runs: other_runs(run.dir().path()), sessions: is_anybody_at_work() };
    if !suspend::may(state.state, state.reason.as_ref(), others) {
        tracing::info!("the machine is not suspended: {others:?}");
        return;
    }
    tracing::info!("the machine is suspended: nothing else needs it (suspendOnCompletion)");
    if let Err(e) = ask("systemctl", &["suspend"]) {
        tracing::warn!("the machine cannot be suspended: {e}");
    }
}

/// Whether another project of this user has a run that is active. One that cannot be read may be.
fn other_runs(own: &Path) -> bool {
    let Some(Ok(all)) = own.parent().map(Dir::open) else { return true };
    let Ok(names) = all.names() else { return true };
    let others = names.iter().map(|(name, _)| all.join(name)).filter(|path| path != own && path.join("state.json").exists());
    let is_active = |path: &Path| Run::at(path).and_then(|run| run.standing()).map_or(true, |state| state.state.is_active() && state.is_alive());
    others.into_iter().any(|path| is_active(&path))
}

/// Whether anybody is logged in and not idle, as the system's login service says. Without one: yes.
fn is_anybody_at_work() -> bool {
    let Ok(sessions) = ask("loginctl", &["list-sessions", "--no-legend"]) else { return true };
    let ids = sessions.lines().filter_map(|line| line.split_whitespace().next());
    ids.into_iter()
        .any(|id| ask("loginctl", &["show-session", id, "-p", "Class", "-p", "State", "-p", "IdleHint"]).map_or(true, |said| suspend::is_busy(&said)))
}

fn ask(program: &str, arguments: &[&str]) -> io::Result<String> {
    detach::ask(&program.into(), &arguments.iter().map(OsString::from).collect::<Vec<_>>())
}

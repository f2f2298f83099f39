//! Coding CLIs: which are installed, whether they answer, and what the teammates that turn to them lack.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use board::name::Name;
use teammates::clis::{self, Cli};
use teammates::config::Config;
use teammates::detach;
use teammates::models::Way;
use teammates::tools::servers::found;

use super::{Finding, Level};

/// How long a CLI may take to say its version: some begin slowly.
const PATIENCE: Duration = Duration::from_secs(15);

/// The CLIs that teammates turn to.
#[derive(Default)]
pub(super) struct Clis {
    used: BTreeMap<String, Used>,
}

struct Used {
    cli: Cli,
    by: Vec<Name>,
    /// Whether a key for it is known here, for each of them.
    has_key: bool,
}

impl Clis {
    /// What a teammate turns to.
    pub(super) fn used_by(&mut self, name: &Name, ways: &[Way]) {
        for agent in ways.iter().filter_map(|way| if let Way::Agent(agent) = way { Some(agent) } else { None }) {
            let used = self.used.entry(agent.runner.clone()).or_insert_with(|| Used { cli: agent.cli.clone(), by: Vec::new(), has_key: true });
            used.by.push(name.clone());
            used.has_key &= agent.has_key();
        }
    }

    /// What is to be said of them, and of the others that are known.
    pub(super) fn findings(self, config: &Config, project: &Path) -> Vec<Finding> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let at = |cli: &Cli| found(&cli.program, project, &path);
        let mut found: Vec<Finding> = Vec::new();
        let mut absent: Vec<&str> = Vec::new();
        let known = clis::built_in().iter().map(|(runner, cli)| (*runner, cli)).filter(|(runner, _)| !config.clis.contains_key(*runner));
        for (runner, cli) in known.filter(|(runner, _)| !self.used.contains_key(*runner)) {
            match at(cli) {
                Some(file) => found.push(answers(runner, cli, &file)),
                None => absent.push(runner),
            }
        }
        if !absent.is_empty() {
            found.push(said(Level::Ok, format!("not installed here, and no teammate turns to them: {}", absent.join(", "))));
        }
        for (runner, used) in &self.used {
            let by = used.by.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
            match at(&used.cli) {
                // What the repository describes runs only once it was allowed, and doctor asks nobody.
                Some(file) if config.clis.contains_key(runner) => {
                    found.push(said(
                        Level::Note,
                        format!("{runner}: config.toml describes it; its program is {}, and it is not asked from here", file.display()),
                    ));
                }
                Some(file) => {
                    let answers = answers(runner, &used.cli, &file);
                    let is_there = answers.level == Level::Ok;
                    found.push(answers);
                    found.extend(is_there.then(|| logged_in(runner, used, &file, &by)));
                }
                None => {
                    let how = if used.cli.install.is_empty() { String::new() } else { format!(": {}", used.cli.install) };
                    found.push(said(Level::Problem, format!("{runner}: its program `{}` is not found, and {by} needs it{how}", used.cli.program)));
                }
            }
        }
        found
    }
}

fn answers(runner: &str, cli: &Cli, file: &PathBuf) -> Finding {
    if cli.version.is_empty() {
        return said(Level::Ok, format!("{runner}: its program is {}", file.display()));
    }
    match ask(file, &cli.version) {
        Ok(version) => said(Level::Ok, format!("{runner}: {} is {}", file.display(), version.lines().next().unwrap_or_default().trim())),
        Err(e) => said(Level::Problem, format!("{runner}: it does not say its version: {e}")),
    }
}

fn logged_in(runner: &str, used: &Used, file: &PathBuf, by: &str) -> Finding {
    let login = if used.cli.login.is_empty() { String::new() } else { format!(": {}", used.cli.login) };
    match (used.has_key, used.cli.logged_in.as_slice()) {
        (true, _) => said(Level::Ok, format!("{runner}: {by} gives it a key; whether that is good shows with the first turn")),
        (false, []) => said(Level::Note, format!("{runner}: whether it is logged in shows with the first turn of {by}{login}")),
        (false, words) => match ask(file, words) {
            Ok(_) => said(Level::Ok, format!("{runner}: it is logged in, for {by}")),
            Err(_) => said(Level::Problem, format!("{runner}: it is not logged in, and {by} needs it{login}")),
        },
    }
}

fn ask(file: &PathBuf, words: &[String]) -> std::io::Result<String> {
    detach::ask_within(&file.into(), &words.iter().map(OsString::from).collect::<Vec<_>>(), PATIENCE)
}

fn said(level: Level, text: String) -> Finding {
    Finding::of(level, "cli", text)
}

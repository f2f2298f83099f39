//! The team: its files, what its models need, the servers whose tools they have, and how far a
//! shell that a model commands can be confined here.

use board::Board;
use board::place::Place;
use teammates::config::Config;
use teammates::profile::Origin;
use teammates::profiles;
use teammates::tools::servers::found;
use teammates::tools::servers::settings::Settings;

use super::{Finding, Level, clis};
use crate::claimants;
use crate::config;
use crate::thinking;

/// What is to be said of the team.
pub(crate) fn findings(board: &Board) -> Vec<Finding> {
    let place = board.place();
    let config = match config::read(place) {
        Ok(config) => config,
        Err(failure) => return vec![Finding::of(Level::Problem, "config", failure.message())],
    };
    let mut found = servers(place, &config);
    let files = match profiles::files(place) {
        Ok(files) => files,
        Err(e) => {
            found.push(Finding::of(Level::Problem, "teammates", e.to_string()));
            return found;
        }
    };
    let (mut any_thinks, mut clis) = (false, clis::Clis::default());
    for file in files {
        match claimants::read_profile(&file, Origin::Crew) {
            Err(failure) => found.push(Finding::of(Level::Problem, "teammate", failure.message())),
            Ok(Some(profile)) if profile.thinks() => {
                any_thinks = true;
                found.push(match thinking::ways_of(place, &config, &profile) {
                    Ok(ways) => {
                        clis.used_by(&profile.name, &ways);
                        let chain: Vec<String> = ways.iter().map(|way| format!("{way:?}")).collect();
                        Finding::of(
                            Level::Ok,
                            "teammate",
                            format!("{} turns to {}; whether its key is good shows with its first turn", profile.name, chain.join(", then ")),
                        )
                    }
                    Err(failure) => Finding::of(Level::Problem, "teammate", failure.message()),
                });
            }
            Ok(_) => {}
        }
    }
    found.extend(clis.findings(&config, place.project()));
    found.extend(any_thinks.then(confinement));
    found
}

/// Each MCP server by itself, so that one which cannot be used hides no other.
fn servers(place: &Place, config: &Config) -> Vec<Finding> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let one = config.mcp.iter().map(|(name, table)| {
        let said = |level, text: String| Finding::of(level, "server", format!("{name}: {text}"));
        let settings = match Settings::of(name, table) {
            Ok(settings) => settings,
            Err(e) => return Finding::of(Level::Problem, "server", e.to_string()),
        };
        let unset = settings.variables().find(|variable| std::env::var_os(variable).is_none());
        match (settings.program(), unset) {
            (_, Some(variable)) => said(Level::Problem, format!("the environment variable {variable} is not set here, which it is to get")),
            (Some(program), None) => match found(program, &place.project().join(&settings.cwd), &path) {
                Some(file) => said(Level::Ok, format!("its program is {}", file.display())),
                None => said(Level::Problem, format!("its program {program:?} is not found")),
            },
            (None, None) => said(Level::Note, format!("whether the shell finds its program shows with its first use: {settings}")),
        }
    });
    one.collect()
}

fn confinement() -> Finding {
    let support = teammates::confinement::support();
    match (support.landlock, support.keeps) {
        (Some(version), true) => Finding::of(
            Level::Ok,
            "confinement",
            format!("the shells of models are confined (Landlock {version}): they write in their workspace and in temporary directories"),
        ),
        (Some(version), false) => Finding::of(
            Level::Note,
            "confinement",
            format!(
                "the shells of models are confined (Landlock {version}), but .tasks/ and .crew/ cannot be kept read-only below a workspace here \
                 (no mount namespaces for this user); what a command changes there is seen and told afterwards"
            ),
        ),
        (None, _) => Finding::of(
            Level::Note,
            "confinement",
            "the shells of models are not confined: this system has no Landlock. They could write wherever you can; teammates that may not write have no shell",
        ),
    }
}

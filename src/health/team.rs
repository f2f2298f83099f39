//! The team: its files, what its models need, and how far a shell that a model commands can be confined here.

use board::Board;
use teammates::models;
use teammates::profile::{Origin, Runner};
use teammates::profiles;

use super::{Finding, Level};
use crate::claimants;
use crate::config;
use crate::exit::Failure;
use crate::thinking;

/// What is to be said of the team.
pub(crate) fn findings(board: &Board) -> Vec<Finding> {
    let place = board.place();
    let config = match config::read(place) {
        Ok(config) => config,
        Err(failure) => return vec![Finding::of(Level::Problem, "config", failure.message())],
    };
    let files = match profiles::files(place) {
        Ok(files) => files,
        Err(e) => return vec![Finding::of(Level::Problem, "teammates", e.to_string())],
    };
    let mut found = Vec::new();
    let mut any_thinks = false;
    for file in files {
        match claimants::read_profile(&file, Origin::Crew) {
            Err(failure) => found.push(Finding::of(Level::Problem, "teammate", failure.message())),
            Ok(Some(profile)) if profile.thinks() => {
                any_thinks = true;
                let made = match profile.runner {
                    Runner::Script => thinking::played(place, &profile).map(|model| vec![model]),
                    _ => thinking::with_sources(place, &config, |sources| models::of_profile(&profile, sources).map_err(|e| Failure::Failed(e.to_string()))),
                };
                found.push(match made {
                    Ok(models) => {
                        let chain: Vec<String> = models.iter().map(|model| format!("{model:?}")).collect();
                        Finding::of(
                            Level::Ok,
                            "teammate",
                            format!("{} can call {}; whether its key is good shows with its first turn", profile.name, chain.join(", then ")),
                        )
                    }
                    Err(failure) => Finding::of(Level::Problem, "teammate", format!("{}: {}", profile.name, failure.message())),
                });
            }
            Ok(_) => {}
        }
    }
    found.extend(any_thinks.then(confinement));
    found
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

//! What a child sees of this process's environment.
//!
//! A child gets the environment that crew was started with, without two kinds of variables:
//!
//! - **Secrets** ([`is_secret`]): keys, tokens, passwords and credentials, told by their names. A
//!   task that needs one is given it by name: `CREW_PASS_ENV=GITHUB_TOKEN,DB_PASSWORD` in crew's own
//!   environment lets those pass.
//! - **Another turn's** ([`TURN_VARIABLES`]): where crew runs inside a task, the outer task's
//!   variables do not describe the inner one.
//!
//! A secret under an innocent name (a password within a URL) passes: names are all there is to go by.
//!
//! What the child is to know about its own turn is set on top, see [`Spawn::env`].
//!
//! [`Spawn::env`]: crate::process::Spawn::env

use std::ffi::OsString;

use board::place::Place;

use crate::config;

/// The variable that names the turn which a process belongs to.
pub const TURN: &str = "CREW_TURN";

/// The variable that lists, separated by commas, secrets that children get all the same.
pub const PASS: &str = "CREW_PASS_ENV";

/// Variables that describe one turn; never inherited.
pub const TURN_VARIABLES: [&str; 9] =
    [TURN, "CREW_AS", "CREW_ATTEMPT", "CREW_LOG_DIR", "CREW_MESSAGES", "CREW_OPENING", "CREW_RESULTS", "CREW_TASK_FILE", "CREW_TASK_ID"];

/// Words of which one, anywhere in a name, makes it a secret's. In capitals.
const ANYWHERE: [&str; 13] =
    ["APIKEY", "AUTHTOKEN", "CREDENTIAL", "CREDENTIALS", "JWT", "PASSPHRASE", "PASSWD", "PASSWORD", "PRIVKEY", "SECRET", "SECRETS", "TOKEN", "TOKENS"];
/// Words that make it one where they are the last.
const LAST: [&str; 6] = ["AUTH", "COOKIE", "KEY", "PASS", "PAT", "PWD"];
/// What a word of a secret's ends with, written in one.
const GLUED: [&str; 5] = ["APIKEY", "AUTHTOKEN", "DBPASS", "PASSWD", "PASSWORD"];
/// Names that look like a secret's and are none.
const HARMLESS: [&str; 2] = ["PWD", "OLDPWD"];

/// Whether a variable of this name holds a secret, as far as the name tells. Case does not count.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = || name.split('_').filter(|word| !word.is_empty());
    let found = words().any(|word| ANYWHERE.contains(&word) || GLUED.iter().any(|end| word.ends_with(end)));
    !HARMLESS.contains(&name.as_str()) && (found || words().next_back().is_some_and(|last| LAST.contains(&last)))
}

/// What the children of a process that works for a project inherit: not the variables that its accounts' keys are in
/// either, whatever they are called.
pub fn of_children(place: &Place) -> Vec<(OsString, OsString)> {
    let keys = config::read(place).map(|config| config.key_variables()).unwrap_or_default();
    let passed = std::env::var(PASS).unwrap_or_default();
    let is_passed = |name: &str| passed.split(',').any(|pass| pass.trim() == name);
    let is_key = |name: &OsString| keys.iter().any(|key| name == key.as_str() && !is_passed(key));
    inherited(std::env::vars_os()).into_iter().filter(|(name, _)| !is_key(name)).collect()
}

/// Of `variables`, those that children inherit.
pub fn inherited(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<_> = variables.into_iter().collect();
    let passed = variables.iter().find(|(name, _)| name == PASS);
    let passed = passed.map(|(_, names)| names.to_string_lossy().into_owned()).unwrap_or_default();
    variables.retain(|(name, _)| {
        let name = name.to_string_lossy();
        let passes = || passed.split(',').any(|pass| pass.trim() == name);
        !TURN_VARIABLES.contains(&name.as_ref()) && (!is_secret(&name) || passes())
    });
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_by_name() {
        for name in [
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "api_key",
            "GITHUB_TOKEN",
            "Npm_Token",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "DB_PASSWORD",
            "PGPASSWORD",
            "MYSQL_PWD",
            "SMTP_PASSWD",
            "CLIENT_SECRET",
            "SECRET",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SIGNING_PRIVATE_KEY",
            "DJANGO_SECRET_KEY",
            "PRIVATE_KEY",
            "AUTH",
            "JWT",
            "COOKIE",
            "MYAPIKEY",
            "NPM_AUTHTOKEN",
            "API_TOKENS",
            "DBPASS",
            "SECRET_KEY_BASE",
            "GITHUB_TOKEN_2",
            "STRIPE_SECRET_LIVE",
            "RAILS_MASTER_KEY",
            "SSH_KEY",
            "_TOKEN",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "SSH_AUTH_SOCK",
            "TOKENIZERS_PARALLELISM",
            "KEYBOARD",
            "CREW_TURN",
            "CREW_PASS_ENV",
            "API_KEYS_FILE",
            "BYPASS",
            "KEY_REPEAT",
            "CREW_AS",
            "",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    fn names(variables: &[(&str, &str)]) -> Vec<String> {
        let owned = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        inherited(owned).into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn what_a_child_inherits() {
        let outside =
            [("PATH", "/bin"), ("GITHUB_TOKEN", "a"), ("DB_PASSWORD", "b"), ("CREW_TURN", "outer"), ("CREW_TASK_ID", "7"), ("CREW_BOARD", "/x/.tasks")];
        assert_eq!(names(&outside), ["PATH", "CREW_BOARD"]);

        let mut passing = outside.to_vec();
        passing.push((PASS, "NOT_THERE, GITHUB_TOKEN ,CREW_TURN"));
        assert_eq!(names(&passing), ["PATH", "GITHUB_TOKEN", "CREW_BOARD", PASS]);

        assert_eq!(names(&[("A_TOKEN", "x"), (PASS, "")]), [PASS]);
    }

    #[test]
    fn a_name_that_is_no_utf8_passes() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = OsString::from_vec(vec![b'X', 0xff]);
        assert_eq!(inherited([(odd.clone(), OsString::new())]), [(odd, OsString::new())]);
    }
}

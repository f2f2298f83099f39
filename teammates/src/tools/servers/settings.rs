//! `[mcp.NAME]` of `config.toml`: which program a server is, and who may use it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::environment;
use crate::nearest::nearest;

/// A server, as the config has it. Two that differ in anything are two servers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Settings {
    /// How the project calls it: letters, digits, `_` and `-`.
    pub name: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// What its environment has on top of what every command gets.
    pub env: BTreeMap<String, Given>,
    /// Where it runs, below the project; empty: in the project itself.
    pub cwd: PathBuf,
    /// Only teammates with this capability have its tools.
    pub capability: Option<String>,
    /// How long a call may take.
    pub timeout: Duration,
}

/// What a variable of a server's environment is set to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Given {
    /// These words.
    Words(String),
    /// What this variable is in the environment of whoever starts the server.
    Variable(String),
}

/// Why a server cannot be used. No message has what a variable is set to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MCP server {server:?}: {problem}")]
pub struct SettingsError {
    server: String,
    problem: String,
}

const KEYS: [&str; 6] = ["command", "args", "env", "cwd", "capability", "timeout"];
/// Each tool is called `mcp__NAME__TOOL`, and that has at most 64 letters.
const LONGEST_NAME: usize = 24;
/// How long a call may take where the config does not say.
const USUAL_TIMEOUT: Duration = Duration::from_secs(60);
/// Letters that mean more to a shell than themselves.
const OF_THE_SHELL: &str = "$\"'\\`|&;<>()*?[]{}~#=!\n";

impl Settings {
    /// Those of all servers of a config, by name.
    pub fn all(tables: &BTreeMap<String, Table>) -> Result<Vec<Settings>, SettingsError> {
        tables.iter().map(|(name, table)| Settings::of(name, table)).collect()
    }

    /// What `[mcp.NAME]` describes.
    pub fn of(name: &str, table: &Table) -> Result<Settings, SettingsError> {
        let wrong = |problem: String| SettingsError { server: name.to_owned(), problem };
        let is_name = |name: &str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
        if name.is_empty() || name.len() > LONGEST_NAME || !is_name(name) {
            return Err(wrong(format!("its name has between 1 and {LONGEST_NAME} letters, digits, `_` and `-`: its tools are called by it")));
        }
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let said = match key.as_str() {
                "url" | "headers" => "; a server is a program here, which speaks by its standard input and output",
                _ => "",
            };
            return Err(wrong(format!("unknown key {key:?}: did you mean {:?}?{said}", nearest(key, &KEYS).unwrap_or_default())));
        }
        let args = words(table, "args").map_err(wrong)?.unwrap_or_default();
        let argv = match table.get("command") {
            Some(Value::String(line)) if !line.trim().is_empty() => of_line(name, line.trim(), args),
            Some(Value::Array(_)) => words(table, "command").map_err(wrong)?.into_iter().flatten().chain(args).collect(),
            Some(_) => return Err(wrong("`command` is a line or a list of words".into())),
            None => return Err(wrong("`command` is missing: the program that it is".into())),
        };
        if argv.first().is_none_or(|program| program.is_empty()) || argv.iter().any(|word| word.contains('\0')) {
            return Err(wrong("`command` begins with a program".into()));
        }
        let env = match table.get("env") {
            None => BTreeMap::new(),
            Some(Value::Table(env)) => env.iter().map(|(key, value)| Ok((key.clone(), given(key, value)?))).collect::<Result<_, _>>().map_err(wrong)?,
            Some(_) => return Err(wrong("`env` is a table of variables".into())),
        };
        let cwd = text(table, "cwd").map_err(wrong)?.map(PathBuf::from).unwrap_or_default();
        if !cwd.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(wrong("`cwd` is a directory below the project".into()));
        }
        let capability = text(table, "capability").map_err(wrong)?.map(str::to_owned);
        if capability.as_deref().is_some_and(|word| word.contains(|letter: char| letter.is_whitespace() || letter == ',')) {
            return Err(wrong("`capability` is one word, such as \"browser\"".into()));
        }
        let timeout = match table.get("timeout") {
            None => USUAL_TIMEOUT,
            Some(Value::String(text)) => board::duration::parse(text).map_err(|e| wrong(format!("`timeout`: {e}")))?,
            Some(_) => return Err(wrong("`timeout` is a duration in quotes, such as \"60s\"".into())),
        };
        if timeout.is_zero() {
            return Err(wrong("`timeout` is more than zero".into()));
        }
        Ok(Settings { name: name.to_owned(), argv, env, cwd, capability, timeout })
    }

    /// The file that its command names first, where that is to be found without a shell.
    pub fn program(&self) -> Option<&str> {
        match self.argv.as_slice() {
            [shell, flag, line, ..] if shell == "sh" && flag == "-c" => {
                line.split_whitespace().next().filter(|word| !word.contains(|letter| OF_THE_SHELL.contains(letter)))
            }
            [program, ..] => Some(program),
            [] => None,
        }
    }

    /// The variables of crew's own environment that it gets.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.env.values().filter_map(|given| match given {
            Given::Variable(of) => Some(of.as_str()),
            Given::Words(_) => None,
        })
    }

    /// Its environment; `variable` reads that of this process.
    pub(super) fn environment(&self, variable: impl Fn(&str) -> Option<OsString>) -> Result<Vec<(OsString, OsString)>, SettingsError> {
        let of = |(name, given): (&String, &Given)| {
            let value = match given {
                Given::Words(words) => words.into(),
                Given::Variable(of) => variable(of).ok_or_else(|| self.wrong(format!("the environment variable {of} is not set, which it is to get")))?,
            };
            Ok((name.into(), value))
        };
        self.env.iter().map(of).collect()
    }

    /// The directory that it runs in, below a project.
    pub(super) fn directory(&self, project: &Path) -> Result<PathBuf, SettingsError> {
        let directory = project.join(&self.cwd);
        let real = |path: &Path| path.canonicalize().map_err(|e| self.wrong(format!("it cannot run in {}: {e}", path.display())));
        let found = real(&directory)?;
        match found.starts_with(real(project)?) {
            true => Ok(found),
            false => Err(self.wrong(format!("{} leads out of the project", directory.display()))),
        }
    }

    fn wrong(&self, problem: String) -> SettingsError {
        SettingsError { server: self.name.clone(), problem }
    }
}

/// The command, for those who are to allow it. What variables are set to is told too: it stands in the config.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, given) in &self.env {
            match given {
                Given::Words(words) => write!(f, "{name}={words:?} ")?,
                Given::Variable(of) => write!(f, "{name}=${of} ")?,
            }
        }
        let is_plain = |word: &str| !word.is_empty() && !word.contains(|letter: char| letter.is_whitespace() || OF_THE_SHELL.contains(letter));
        let words: Vec<String> = self.argv.iter().map(|word| if is_plain(word) { word.clone() } else { format!("{word:?}") }).collect();
        f.write_str(&words.join(" "))?;
        if !self.cwd.as_os_str().is_empty() {
            write!(f, " (in {})", self.cwd.display())?;
        }
        Ok(())
    }
}

/// A line is the shell's; what comes after it are further arguments of its last command.
fn of_line(name: &str, line: &str, args: Vec<String>) -> Vec<String> {
    let own = |word: &str| word.to_owned();
    match args.is_empty() {
        true => vec![own("sh"), own("-c"), own(line)],
        false => [own("sh"), own("-c"), format!("{line} \"$@\""), own(name)].into_iter().chain(args).collect(),
    }
}

fn text<'t>(table: &'t Table, key: &str) -> Result<Option<&'t str>, String> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text.trim())),
        Some(_) => Err(format!("`{key}` is no text")),
    }
}

fn words(table: &Table, key: &str) -> Result<Option<Vec<String>>, String> {
    let wrong = || format!("`{key}` is a list of words");
    let word = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(wrong);
    table.get(key).map(|value| value.as_array().ok_or_else(wrong)?.iter().map(word).collect()).transpose()
}

/// `"$NAME"` is what a variable holds, `"$$…"` words that begin with a dollar; all else is what it is.
fn given(name: &str, value: &Value) -> Result<Given, String> {
    if !is_variable(name) || environment::TURN_VARIABLES.contains(&name) {
        return Err(format!("`env`: {name:?} cannot be set"));
    }
    let Some(words) = value.as_str() else { return Err(format!("`env`: {name} is set to a text")) };
    match words.strip_prefix('$') {
        Some(rest) if rest.starts_with('$') => Ok(Given::Words(rest.to_owned())),
        Some(of) if is_variable(of) => Ok(Given::Variable(of.to_owned())),
        Some(_) => Err(format!("`env`: {name} is \"$NAME\", a variable of crew's own environment, or words (\"$$\" begins with a dollar)")),
        None if words.contains('\0') => Err(format!("`env`: {name} cannot be set to that")),
        None if environment::is_secret(name) && !words.is_empty() => {
            Err(format!("`env`: a secret stands in no file of the project: write {name} = \"${name}\", and set that variable where crew is started"))
        }
        None => Ok(Given::Words(words.to_owned())),
    }
}

fn is_variable(name: &str) -> bool {
    let letters = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.is_empty() && name.chars().all(letters) && !name.starts_with(|letter: char| letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Settings, String> {
        Settings::of("web", &text.parse().unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_whole_one() {
        let text = "command = [\"npx\", \"-y\", \"server\"]\nargs = [\"--fast\"]\ncwd = \"tools/web\"\ncapability = \"browser\"\ntimeout = \"90s\"\n\
                    env = { MODE = \"a b\", API_KEY = \"$WEB_KEY\", PRICE = \"$$5\" }";
        let env = [("API_KEY", Given::Variable("WEB_KEY".into())), ("MODE", Given::Words("a b".into())), ("PRICE", Given::Words("$5".into()))];
        let expected = Settings {
            name: "web".into(),
            argv: ["npx", "-y", "server", "--fast"].map(str::to_owned).to_vec(),
            env: env.map(|(name, given)| (name.to_owned(), given)).into(),
            cwd: "tools/web".into(),
            capability: Some("browser".into()),
            timeout: Duration::from_secs(90),
        };
        let read = of(text).unwrap();
        assert_eq!(read, expected);
        assert_eq!(read.to_string(), "API_KEY=$WEB_KEY MODE=\"a b\" PRICE=\"$5\" npx -y server --fast (in tools/web)");
        assert_eq!(read.program(), Some("npx"));
    }

    #[test]
    fn a_line_is_the_shells() {
        let line = of("command = \"tools/server --port 3\"").unwrap();
        assert_eq!(line.argv, ["sh", "-c", "tools/server --port 3"]);
        assert_eq!((line.program(), line.timeout), (Some("tools/server"), USUAL_TIMEOUT));
        assert_eq!(of("command = \"exec server\"\nargs = [\"a b\"]").unwrap().argv, ["sh", "-c", "exec server \"$@\"", "web", "a b"]);
        assert_eq!(of("command = \"\\\"$HOME\\\"/server\"").unwrap().program(), None);
    }

    #[test]
    fn what_is_refused_says_why() {
        let cases = [
            ("", "`command` is missing"),
            ("command = 1", "a line or a list of words"),
            ("command = []", "begins with a program"),
            ("command = [\"a\", 1]", "`command` is a list of words"),
            ("command = \"a\"\nargs = \"b\"", "`args` is a list of words"),
            ("command = \"a\"\ncomand = \"b\"", "unknown key \"comand\": did you mean \"command\"?"),
            ("url = \"http://127.0.0.1\"", "a program here"),
            ("command = \"a\"\ncwd = \"../b\"", "below the project"),
            ("command = \"a\"\ncwd = \"/b\"", "below the project"),
            ("command = \"a\"\ncapability = \"a b\"", "one word"),
            ("command = \"a\"\ntimeout = 60", "a duration in quotes"),
            ("command = \"a\"\ntimeout = \"0s\"", "more than zero"),
            ("command = \"a\"\nenv = [\"A=b\"]", "a table of variables"),
            ("command = \"a\"\nenv = { \"A B\" = \"c\" }", "cannot be set"),
            ("command = \"a\"\nenv = { CREW_TURN = \"c\" }", "cannot be set"),
            ("command = \"a\"\nenv = { A = \"${B}\" }", "\"$NAME\""),
            ("command = \"a\"\nenv = { A_TOKEN = \"s3cr3t\" }", "write A_TOKEN = \"$A_TOKEN\""),
        ];
        for (text, why) in cases {
            let refused = of(text).unwrap_err();
            assert!(refused.contains(why) && !refused.contains("s3cr3t"), "{text}: {refused}");
        }
        for name in ["", "a b", "a.b", "ä", &"x".repeat(LONGEST_NAME + 1)] {
            assert!(Settings::of(name, &"command = \"a\"".parse().unwrap()).is_err(), "{name:?}");
        }
    }

    #[test]
    fn its_environment_is_what_is_named() {
        let settings = of("command = \"a\"\nenv = { A = \"b\", KEY = \"$OUTER\" }").unwrap();
        let variable = |name: &str| (name == "OUTER").then(|| OsString::from("s3cr3t"));
        assert_eq!(settings.environment(variable).unwrap(), [("A", "b"), ("KEY", "s3cr3t")].map(|(name, value)| (name.into(), value.into())));
        let missing = settings.environment(|_| None).unwrap_err().to_string();
        assert!(missing.contains("OUTER is not set"), "{missing}");
    }

    #[test]
    fn it_runs_below_the_project() {
        let temp = tempfile::tempdir().unwrap();
        let project = temp.path().join("project");
        std::fs::create_dir_all(project.join("below")).unwrap();
        std::os::unix::fs::symlink(temp.path(), project.join("out")).unwrap();
        let at = |cwd: &str| of(&format!("command = \"a\"\ncwd = {cwd:?}")).unwrap().directory(&project);
        assert!(at("below").unwrap().ends_with("project/below"));
        assert!(at("out").unwrap_err().to_string().contains("leads out"));
        assert!(at("missing").is_err());
    }
}

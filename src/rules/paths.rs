//! The files that a command names, as far as its words tell. What is doubtful is passed over: a check that is refused
//! for a word that is no path could never pass.

#![allow(dead_code)] // As of the audit, which the run uses.

use board::task::Command;

/// Ends of the names of scripts and tests.
const ENDINGS: [&str; 24] = [
    "sh", "bash", "zsh", "fish", "bats", "py", "rb", "pl", "php", "lua", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "rs", "go", "java", "kt",
    "swift", "exs",
];

/// Options by which a command works in another directory than its own.
const ELSEWHERE: [&str; 6] = ["-C", "--cwd", "--dir", "--directory", "--prefix", "--rootdir"];

/// Paths relative to the directory in which the command runs, in its order: with a slash, if they begin with a dot, with
/// a directory that is there or as a program, or with the ending of a script or a test.
pub(super) fn named_by(command: &Command, is_missing: &impl Fn(&str) -> bool) -> Vec<String> {
    match command {
        Command::Shell(line) => of_line(line, is_missing),
        Command::Exec(argv) => match argv.as_slice() {
            [shell, option, line, ..] if is_shell(shell) && option.starts_with('-') && option.ends_with('c') => of_line(line, is_missing),
            argv => of_words(argv, is_missing),
        },
    }
}

fn is_shell(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("sh" | "bash" | "dash" | "zsh"))
}

/// A line for the shell: one simple command after the other, each in the directory to which those before have changed.
fn of_line(line: &str, is_missing: &impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut base = String::new();
    for words in simple_commands(line) {
        if let [first, to, ..] = words.as_slice()
            && matches!(first.as_str(), "cd" | "pushd")
        {
            // Where it leads back from, behind a bracket or a `popd`, is not followed.
            if first == "pushd" || line.contains('(') || !is_plain(to) || to.starts_with(['/', '-']) {
                break;
            }
            base = format!("{base}{}/", to.trim_end_matches('/'));
            continue;
        }
        let is_missing = |path: &str| is_missing(&format!("{base}{path}"));
        found.extend(of_words(&words, &is_missing).into_iter().map(|path| format!("{base}{path}")));
    }
    found
}

fn of_words(words: &[String], is_missing: &impl Fn(&str) -> bool) -> Vec<String> {
    // What is removed, or asked not to be there, may be missing; and where it works elsewhere, nobody knows where.
    let is_other = |word: &String| word == "!" || matches!(word.as_str(), "rm" | "rmdir" | "unlink") || ELSEWHERE.contains(&word.as_str());
    if words.iter().any(is_other) {
        return Vec::new();
    }
    // `NAME=value` before the program is no word of its own.
    let words = words.iter().skip_while(|word| word.split_once('=').is_some_and(|(name, _)| is_plain(name) && !name.contains('/')));
    words.enumerate().filter_map(|(place, word)| path(word, place == 0, is_missing)).map(str::to_owned).collect()
}

/// The path that a word is.
fn path<'a>(word: &'a str, is_program: bool, is_missing: &impl Fn(&str) -> bool) -> Option<&'a str> {
    // A test in it (`tests/a.py::one`), or a line (`spec/a_spec.rb:12`).
    let path = word.split_once(':').map_or(word, |(path, _)| path);
    let (has_ending, has_slash) = (has_ending(path), path.trim_end_matches('/').contains('/'));
    if !is_plain(path) || path.starts_with(['/', '-']) || path.contains("...") || (path != word && !has_ending) {
        return None;
    }
    let begins_here = path.starts_with("./") || path.starts_with("../") || path.split_once('/').is_some_and(|(first, _)| !is_missing(first));
    let is_path = match has_slash {
        true => is_program || begins_here || has_ending,
        // A program without a slash is looked for elsewhere.
        false => has_ending && !is_program,
    };
    is_path.then_some(path)
}

fn has_ending(path: &str) -> bool {
    path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).is_some_and(|(stem, ending)| !stem.is_empty() && ENDINGS.contains(&ending))
}

/// Nothing in it that a shell, or a program, could take for something else than a part of a path.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-./+".contains(c))
}

/// The words of each simple command of a line, its quotes removed. Where something is expanded, the sign for it stays in
/// its word, which is no plain path then.
fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut quote = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (Some(_), inside) => word.get_or_insert_default().push(inside),
            // A comment, to the end of its line.
            (None, '#') if word.is_none() => while letters.next_if(|letter| *letter != '\n').is_some() {},
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, '\n' | ';' | '&' | '|' | '(' | ')') => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            // A redirection: its file is not a word of the program.
            (None, '<' | '>') => {
                words.extend(word.take());
                while letters.next_if(|letter| matches!(letter, '<' | '>' | '&' | ' ')).is_some() {}
                while letters.next_if(|letter| !letter.is_whitespace() && !";&|()".contains(*letter)).is_some() {}
            }
            (None, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    commands.push(words);
    commands.retain(|words| !words.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a project with these directories and nothing else.
    fn is_missing(path: &str) -> bool {
        !["tests", "src", "web", "web/src"].contains(&path)
    }

    #[test]
    fn paths_of_lines() {
        let cases: [(&str, &[&str]); 36] = [
            ("cargo test", &[]),
            ("./check.sh", &["./check.sh"]),
            ("../tool/run --all", &["../tool/run"]),
            ("bin/check", &["bin/check"]),
            ("/usr/bin/env true", &[]),
            ("check.sh", &[]),
            ("sh check.sh", &["check.sh"]),
            ("bash -e 'check it.sh'", &[]),
            ("python3 'tools/a.py' \"tools/b.py\"", &["tools/a.py", "tools/b.py"]),
            ("pytest tests/unit tests/test_a.py::test_b", &["tests/unit", "tests/test_a.py"]),
            ("pytest tests/", &[]),
            ("rspec spec/a_spec.rb:12", &["spec/a_spec.rb"]),
            ("node --test test/*.js", &[]),
            ("go test ./...", &[]),
            ("git diff --exit-code origin/main", &[]),
            ("sed -n s/a/b/ file", &[]),
            ("docker run --rm python:3.11/x org/image", &[]),
            ("npx @scope/tool https://a.example/b.js", &[]),
            ("A=b/c.sh B=1 ./run", &["./run"]),
            ("cargo test --test=tests/a.rs -p x", &[]),
            ("cd web && npx jest src/a.test.ts", &["web/src/a.test.ts"]),
            ("cd web; cd src/; node gen/a.js", &["web/src/gen/a.js"]),
            ("cd \"$HOME\" && ./run", &[]),
            ("cd /srv && ./run", &[]),
            ("./a.sh; (cd web; ./b.sh); ./c.sh", &["./a.sh"]),
            ("pushd web; popd; ./c.sh", &[]),
            ("npm --prefix web test src/a.ts", &[]),
            ("make -C web && tests/all", &["tests/all"]),
            ("test ! -e src/old.rs", &[]),
            ("! grep -q x src/old.rs", &[]),
            ("rm -f src/old.rs; ./run", &["./run"]),
            ("./a.sh > out/log.sh 2>&1 | tee src/b.py", &["./a.sh", "src/b.py"]),
            ("true # then ./never.sh\n./b.sh", &["./b.sh"]),
            ("$(./a.sh) `x/b.sh` ${C}/c.sh", &["./a.sh"]),
            ("echo it\\'s tests/a\\ b", &[]),
            ("(./a.sh&&./b.sh)||./c.sh", &["./a.sh", "./b.sh", "./c.sh"]),
        ];
        for (line, expected) in cases {
            assert_eq!(named_by(&Command::Shell(line.into()), &is_missing), expected, "{line}");
        }
    }

    #[test]
    fn paths_of_argument_lists() {
        let cases: [(&[&str], &[&str]); 4] = [
            (&["tools/check", "a;b.sh", "tests/x.py"], &["tools/check", "tests/x.py"]),
            (&["sh", "-c", "./a.sh && ./b.sh"], &["./a.sh", "./b.sh"]),
            (&["/bin/bash", "-ec", "./a.sh"], &["./a.sh"]),
            (&["bash", "tools/a.sh"], &["tools/a.sh"]),
        ];
        for (argv, expected) in cases {
            let argv = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(named_by(&Command::Exec(argv), &is_missing), expected);
        }
    }
}

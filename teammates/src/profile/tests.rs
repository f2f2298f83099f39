use super::*;

fn crew(text: &str) -> Result<Profile, ProfileError> {
    parse(text, Path::new("team/alice.md"), Origin::Crew)
}

fn claude(text: &str) -> Result<Profile, ProfileError> {
    parse(text, Path::new("agents/code-reviewer.md"), Origin::ClaudeAgent)
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn every_key() {
    let text = "---
name: alice
role: coder
runner: anthropic        # a comment
model: some-model
effort: high
fallback: [openai/other-model, local/third]
account: work1
tier: mid
writes: false
capabilities: [write, browser]
lanes: 3
poll: 1s
idleTimeout: 1h30m
description: Writes code
tools: Read, Bash(git add:*, git commit:*), Edit
command: [make, -j, 4]
stdin: task
timeout: 15m
worktree: true
mayRun: true
baseUrl: http://localhost:8080/v1
toolMode: native
context: 32000
maxOutput: 4000
maxCalls: 50
script: recordings/alice.jsonl
permissionMode: acceptEdits
---

You are careful.

---
A line of dashes belongs to the text.
";
    let expected = Profile {
        name: Name::new("alice").unwrap(),
        description: Some("Writes code".into()),
        role: "coder".into(),
        runner: Runner::Anthropic,
        model: Some("some-model".into()),
        effort: Some("high".into()),
        fallback: strings(&["openai/other-model", "local/third"]),
        account: Some("work1".into()),
        tier: Some(Tier::Mid),
        writes: false,
        capabilities: strings(&["write", "browser"]),
        lanes: 3,
        poll: Duration::from_secs(1),
        idle_timeout: Duration::from_secs(90 * 60),
        tools: Some(strings(&["Read", "Bash(git add:*, git commit:*)", "Edit"])),
        command: Some(Command::Exec(strings(&["make", "-j", "4"]))),
        stdin: Stdin::Task,
        timeout: Some(Duration::from_secs(15 * 60)),
        worktree: true,
        may_run: true,
        base_url: Some("http://localhost:8080/v1".into()),
        tool_mode: Some("native".into()),
        context: Some(32_000),
        max_output: Some(4000),
        max_calls: 50,
        script: Some("recordings/alice.jsonl".into()),
        permission_mode: Some("acceptEdits".into()),
        instructions: "You are careful.\n\n---\nA line of dashes belongs to the text.".into(),
        ignored: Vec::new(),
    };
    assert_eq!(crew(text).unwrap(), expected);
    let crlf = text.replace('\n', "\r\n");
    let read = crew(&format!("\u{feff}{crlf}")).unwrap();
    assert_eq!(Profile { instructions: expected.instructions.clone(), ..read }, expected);
}

#[test]
fn without_keys_the_defaults() {
    let defaults = Profile::named("alice").unwrap();
    for text in ["", "---\n---\n", "---\n# nothing yet\n\n---", "---\nmodel:\n---\n"] {
        assert_eq!(crew(text).unwrap(), defaults, "{text:?}");
    }
    assert_eq!(defaults.role, "teammate");
    assert_eq!(defaults.runner, Runner::Command);
    assert_eq!(defaults.tier, None);
    assert!(defaults.writes && !defaults.worktree && !defaults.may_run);
    assert_eq!((defaults.poll, defaults.idle_timeout), (Duration::from_secs(5), Duration::from_secs(60)));

    let only_text = crew("You are alice.\n---\nnot: front matter\n---\n").unwrap();
    assert_eq!(only_text.instructions, "You are alice.\n---\nnot: front matter\n---");
}

#[test]
fn what_is_refused_says_where_and_why() {
    let cases = [
        ("idle_timeout: 60s", "team/alice.md:2: unknown key `idle_timeout`: did you mean `idleTimeout`?"),
        ("role: coder\nrunnr: codex", "team/alice.md:3: unknown key `runnr`: did you mean `runner`?"),
        ("color: red", "team/alice.md:2: unknown key `color`: did you mean `role`?"),
        ("name: bob", "team/alice.md:2: `name: bob` is not the file's name: rename the file to `bob.md`, or take the line out"),
        ("poll: 0s", "team/alice.md:2: `poll: 0s`: this duration is more than zero"),
        ("poll: 5", "team/alice.md:2: `poll: 5`: a duration is a number with a unit, such as 5s, 15m or 1h30m"),
        ("\n\ntimeout: -5s", "team/alice.md:4: `timeout: -5s`: a duration is not negative"),
        ("timeout: 0s", "team/alice.md:2: `timeout: 0s`: this duration is more than zero"),
        ("idleTimeout: soon", "team/alice.md:2: `idleTimeout: soon`: a duration is a number with a unit, such as 5s, 15m or 1h30m"),
        ("tier: high", "team/alice.md:2: `tier: high`: a tier is cheap, mid or top"),
        ("lanes: 0", "team/alice.md:2: `lanes: 0`: a teammate has at least one lane"),
        ("stdin: json", "team/alice.md:2: `stdin: json`: stdin is none or task"),
        ("command: ' '", "team/alice.md:2: `command:  `: a command is not blank"),
        ("command: []", "team/alice.md:2: `command: []`: a command as a list begins with a program"),
        ("role: \"a\\e[31m\"", "team/alice.md:2: `role: a\\u{1b}[31m`: a role is one line that is not blank"),
        ("runner: ''", "team/alice.md:2: `runner: `: a runner has a name"),
    ];
    for (front, message) in cases {
        let error = crew(&format!("---\n{front}\n---\ntext\n")).unwrap_err();
        assert_eq!(error.to_string(), message, "{front}");
    }
    // The parser's own words, but our file and line.
    for (front, line) in [
        ("role: coder\nwrites: maybe", 3),
        ("lanes: -1", 2),
        ("command: true", 2),
        ("role: a\nrole: b", 3),
        ("role: coder\nmodel: [", 3),
        ("fallback: {a: b}", 2),
    ] {
        let error = crew(&format!("---\n{front}\n---\n")).unwrap_err();
        let message = error.to_string();
        assert!(matches!(error, ProfileError::Yaml { .. }), "{front}: {message}");
        assert!(message.starts_with(&format!("team/alice.md:{line}: ")), "{front}: {message}");
        assert_eq!(message.lines().count(), 1, "{front}: {message}");
    }
    assert_eq!(crew("---\nrole: coder\n").unwrap_err().to_string(), "team/alice.md:1: the front matter has no end: put a line of `---` after its last key");
}

#[test]
fn known_keys_are_all_offered() {
    // `did you mean` must be able to say each of them.
    for key in ["permissionMode", "toolMode", "baseUrl", "mayRun", "capabilities", "description"] {
        let error = crew(&format!("---\n{}: x\n---\n", key.to_uppercase())).unwrap_err();
        assert!(matches!(error, ProfileError::UnknownKey { nearest, .. } if nearest == key), "{error}");
    }
}

#[test]
fn runners_and_commands() {
    let read = |front: &str| crew(&format!("---\n{front}\n---\n")).unwrap();
    assert_eq!(read("runner: claude-code").runner, Runner::ClaudeCode);
    assert_eq!(read("runner: gemini").runner, Runner::Other("gemini".into()));
    assert_eq!(read("command: make test | tee log").command, Some(Command::Shell("make test | tee log".into())));
    assert_eq!(read("command: 'true'").command, Some(Command::Shell("true".into())));
    assert_eq!(read("fallback: openai/m, local/n").fallback, strings(&["openai/m", "local/n"]));
    assert!(Tier::Cheap < Tier::Mid && Tier::Mid < Tier::Top);
}

#[test]
fn an_agent_file_of_the_other_program() {
    let read = claude("---\nname: reviewer\ndescription: Reviews code\ntools: Read, Grep,Glob\nmodel: sonnet\ncolor: red\n---\n\nYou review.\n").unwrap();
    let expected = Profile {
        description: Some("Reviews code".into()),
        runner: Runner::ClaudeCode,
        model: Some("sonnet".into()),
        tools: Some(strings(&["Read", "Grep", "Glob"])),
        instructions: "You review.".into(),
        ignored: strings(&["color"]),
        ..Profile::named("reviewer").unwrap()
    };
    assert_eq!(read, expected);

    let list = claude("---\ntools:\n  - Read\n  - Bash(git:*)\n---\n").unwrap();
    assert_eq!(list.name.as_str(), "code-reviewer");
    assert_eq!(list.tools, Some(strings(&["Read", "Bash(git:*)"])));
}

#[test]
fn a_description_that_is_no_yaml() {
    let text = "---\nname: reviewer\ndescription: Use it when: code changed. Examples: <example>user: \"x\"\\n</example>\ntools: Read, Edit\n---\nText\n";
    let read = claude(text).unwrap();
    assert_eq!(read.description.as_deref(), Some("Use it when: code changed. Examples: <example>user: \"x\"\\n</example>"));
    assert_eq!(read.tools, Some(strings(&["Read", "Edit"])));
    assert_eq!(read.name.as_str(), "reviewer");

    // Neither YAML nor plain lines: the parser's error.
    assert!(matches!(claude("---\nname: [\n  - x\n---\n"), Err(ProfileError::Yaml { .. })));
}

#[test]
fn names() {
    let reserved = parse("", Path::new("team/lead.md"), Origin::Crew).unwrap_err();
    assert_eq!(reserved.to_string(), "team/lead.md: name \"lead\" is refused: it is reserved (user, system, audit, lead)");
    assert!(matches!(claude("---\nname: ../x\n---\n"), Err(ProfileError::Name { .. })));
}

use std::path::PathBuf;

use super::events::{Event, Used, read};
use super::*;
use board::run::Counted;

const RUNNERS: [&str; 4] = ["claude-code", "codex", "gemini", "opencode"];

/// What a real CLI printed, in `recorded/RUNNER/CASE.jsonl`, as events.
fn heard(runner: &str, case: &str) -> Vec<Event> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/clis/recorded").join(runner).join(format!("{case}.jsonl"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    text.lines().flat_map(|line| read(&built_in()[runner].events, line.as_bytes())).collect()
}

fn known<'a>(crew: &'a [String]) -> Known<'a> {
    Known { workspace: "/project", files: "/state/files", crew, writes: true, ..Known::default() }
}

fn crew() -> Vec<String> {
    ["/usr/bin/env", "-i", "CREW_TURN=t1", "/opt/cr\"ew", "mcp", "--as", "alice"].map(str::to_owned).to_vec()
}

#[test]
fn every_description_can_be_read() {
    assert_eq!(built_in().keys().copied().collect::<Vec<_>>(), RUNNERS);
    for (runner, text) in BUILT_IN {
        let table: Table = text.parse().unwrap();
        Cli::of(runner, &table).unwrap();
        assert_eq!(named(runner, &BTreeMap::new()).unwrap().as_ref(), built_in().get(runner));
    }
}

#[test]
fn a_turn_is_heard_from_its_session_to_what_it_took() {
    for runner in RUNNERS {
        let events = heard(runner, "works");
        assert!(matches!(events.first(), Some(Event::Session(id)) if id.len() > 8), "{runner}: {events:?}");
        let cli = &built_in()[runner];
        let own = events.iter().filter_map(|event| match event {
            Event::Calls { id, name, input } => {
                let call = ToolCall { id: id.clone(), name: name.clone(), input: input.clone(), malformed: None };
                cli.own_tool(&call)
            }
            _ => None,
        });
        let own: Vec<ToolCall> = own.collect();
        let names: Vec<&str> = own.iter().map(|call| call.name.as_str()).collect();
        assert!(names.contains(&"read_thread") && names.contains(&"post"), "{runner}: {names:?} of {events:?}");
        let results = events.iter().filter(|event| matches!(event, Event::Result { id, is_error: false, .. } if own.iter().any(|call| call.id == *id)));
        assert!(results.count() >= 2, "{runner}: {events:?}");
        let spent = events.iter().filter_map(|event| if let Event::Used(used) = event { Some(used.tokens[1]) } else { None }).sum::<u64>();
        assert!(spent > 0, "{runner}: {events:?}");
        let wrong = |event: &&Event| matches!(event, Event::Limit { .. } | Event::Failed { .. } | Event::NoTools(_) | Event::Denied(_) | Event::NoSession);
        assert_eq!(events.iter().find(wrong), None, "{runner}");
    }
}

#[test]
fn what_went_wrong_is_told_by_the_vendors_own_record() {
    let status = |runner: &str, case: &str| {
        let failed = heard(runner, case).into_iter().filter_map(|event| if let Event::Failed { status, .. } = event { Some(status) } else { None });
        failed.reduce(|one, other| one.or(other))
    };
    for (runner, case, expected) in [
        ("claude-code", "401-noretry", Some(401)),
        ("claude-code", "nokey", Some(401)),
        ("claude-code", "429", Some(429)),
        ("claude-code", "credit", Some(402)),
        ("claude-code", "404-model", Some(404)),
        ("claude-code", "529", Some(529)),
        ("claude-code", "unreachable", Some(503)),
        ("claude-code", "too-long", Some(413)),
        ("codex", "401", Some(401)),
        ("codex", "429", Some(429)),
        ("codex", "quota", Some(402)),
        ("codex", "404-model", Some(404)),
        ("codex", "context", Some(413)),
        ("codex", "503-overloaded", Some(503)),
        ("gemini", "401", Some(401)),
        ("gemini", "404-model", Some(404)),
        ("opencode", "401", Some(401)),
        ("opencode", "404-model", Some(404)),
    ] {
        assert_eq!(status(runner, case), Some(expected), "{runner}: {case}: {:?}", heard(runner, case));
    }
    for runner in RUNNERS {
        assert!(heard(runner, "resume-unknown").contains(&Event::NoSession), "{runner}");
    }
    for runner in ["claude-code", "codex"] {
        assert!(heard(runner, "mcp-broken").iter().any(|event| matches!(event, Event::NoTools(_))), "{runner}");
    }
    for (runner, tool) in [("claude-code", "Bash"), ("opencode", "bash")] {
        let denied = heard(runner, "denied");
        assert!(denied.iter().any(|event| matches!(event, Event::Denied(name) if name.contains(tool))), "{runner}: {denied:?}");
    }
    for (runner, case) in [("claude-code", "529"), ("codex", "401")] {
        assert!(heard(runner, case).iter().any(|event| matches!(event, Event::Trouble(text) if text.len() > 5)), "{runner}: {case}");
    }
    assert!(heard("claude-code", "compact").contains(&Event::Compacted));
}

#[test]
fn a_limit_is_the_vendors_event_and_never_a_quoted_text() {
    let limits = |runner: &str, case: &str| {
        let all = heard(runner, case).into_iter().filter_map(|event| if let Event::Limit { until, .. } = event { Some(until.is_some()) } else { None });
        all.collect::<Vec<_>>()
    };
    assert_eq!(limits("claude-code", "limit-oauth"), [true]);
    assert_eq!(limits("claude-code", "limit-warning-oauth"), [] as [bool; 0], "a warning is none");
    let paid = br#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","overageStatus":"allowed","isUsingOverage":true,"resetsAt":4000000000}}"#;
    assert_eq!(read(&built_in()["claude-code"].events, paid), [], "who pays for more goes on");
    assert_eq!(limits("codex", "limit"), [false]);
    assert_eq!(limits("gemini", "quota-day"), [false]);
    for runner in ["claude-code", "codex"] {
        let quoted = heard(runner, "quoted");
        let said = format!("{quoted:?}");
        assert!(said.contains("hit your"), "the text is there: {said}");
        assert!(!quoted.iter().any(|event| matches!(event, Event::Limit { .. } | Event::Failed { .. })), "{said}");
    }
}

#[test]
fn an_argument_of_which_nothing_is_known_is_left_out_with_its_list() {
    let crew = crew();
    let cli = &built_in()["claude-code"];
    let words = |known: &Known<'_>| cli.argv(known);
    let plain = words(&known(&crew));
    assert!(!plain.iter().any(|word| word.contains("--model") || word.contains("--resume") || word.contains("--effort")), "{plain:?}");
    assert!(plain.windows(2).any(|pair| pair == ["--permission-mode", "acceptEdits"]));
    let mcp = plain.iter().find(|word| word.contains("mcpServers")).unwrap();
    let mcp: serde_json::Value = serde_json::from_str(mcp).unwrap();
    assert_eq!(mcp["mcpServers"]["crew"]["command"], "/usr/bin/env");
    assert_eq!(mcp["mcpServers"]["crew"]["args"][2], "/opt/cr\"ew", "quoted as it must be");
    let told = words(&Known { model: Some("m{session}"), session: Some("s1"), permission_mode: Some("plan"), effort: Some("low"), ..known(&crew) });
    for pair in [["--model", "m{session}"], ["--resume", "s1"], ["--permission-mode", "plan"], ["--effort", "low"]] {
        assert!(told.windows(2).any(|two| two == pair), "{pair:?} in {told:?}: what is filled in is not filled again");
    }
    assert!(!told.contains(&"acceptEdits".to_owned()));
    let only = words(&Known { tools: Some("Read,Grep"), ..known(&crew) });
    assert!(only.windows(2).any(|pair| pair == ["--tools", "Read,Grep"]));
    let reads = words(&Known { writes: false, ..known(&crew) });
    assert!(reads.contains(&"--disallowedTools".to_owned()));

    let codex = built_in()["codex"].argv(&Known { session: Some("t1"), base_url: Some("http://localhost:1/v1"), ..known(&crew) });
    assert_eq!(codex[codex.len() - 3..], ["resume", "t1", "-"]);
    let args = codex.iter().find_map(|word| word.strip_prefix("mcp_servers.crew.args=")).unwrap();
    let args: Table = format!("args={args}").parse().unwrap();
    assert_eq!(args["args"].as_array().unwrap().len(), 6, "a TOML list");
    assert!(codex.iter().any(|word| word.contains("base_url=\"http://localhost:1/v1\"")));
}

#[test]
fn the_persons_own_environment_comes_before_what_is_only_described() {
    let crew = crew();
    let cli = &built_in()["claude-code"];
    let of = |known: &Known<'_>, set: &'static [&'static str]| {
        cli.environment(known, |name| set.contains(&name)).into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
    };
    assert_eq!(of(&known(&crew), &[]), ["CLAUDE_CODE_MAX_RETRIES=2", "DISABLE_AUTOUPDATER=1"]);
    let set = &["CLAUDE_CODE_MAX_RETRIES", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"];
    assert_eq!(of(&known(&crew), set), ["DISABLE_AUTOUPDATER=1"]);
    let told = Known { base_url: Some("http://localhost:1"), key: Some("k"), ..known(&crew) };
    assert_eq!(of(&told, set), ["ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=http://localhost:1", "DISABLE_AUTOUPDATER=1"]);
    let opencode = built_in()["opencode"].environment(&Known { writes: false, ..known(&crew) }, |_| false);
    let config: serde_json::Value = serde_json::from_str(&opencode[0].1).unwrap();
    assert_eq!((config["permission"]["bash"].as_str(), config["mcp"]["crew"]["command"][0].as_str()), (Some("deny"), Some("/usr/bin/env")));
    let gemini = built_in()["gemini"].files(&known(&crew));
    let settings: serde_json::Value = serde_json::from_str(&gemini[0].1).unwrap();
    assert_eq!((gemini[0].0.as_str(), &settings["mcpServers"]["crew"]["command"]), (".gemini/settings.json", &"/usr/bin/env".into()));
}

#[test]
fn what_is_counted_from_the_beginning_is_taken_once() {
    let used = |tokens, cumulative, micro_usd| Used { tokens, micro_usd, cumulative, usd_cumulative: true };
    let before = Counted { tokens: [100, 10, 5, 0], micro_usd: 500 };
    let (new, counted) = used([300, 30, 5, 0], true, None).after(before);
    assert_eq!((new.tokens, counted), ([200, 20, 0, 0], Counted { tokens: [300, 30, 5, 0], micro_usd: 500 }));
    let (new, counted) = used([100, 7, 20, 0], false, Some(1088)).after(before);
    assert_eq!((new.tokens, new.micro_usd, counted), ([100, 7, 20, 0], Some(588), Counted { micro_usd: 1088, ..before }));
    let (new, _) = used([40, 4, 0, 0], true, Some(3)).after(before);
    assert_eq!((new.tokens, new.micro_usd), ([40, 4, 0, 0], Some(3)), "it counts anew");
}

#[test]
fn one_of_your_own_is_described_in_the_configuration() {
    let table = |text: &str| -> Table { text.parse().unwrap() };
    let own = "provider = \"me\"\nprogram = \"mine\"\narguments = [\"{crewArgv}\", \"{\", \"{a b}\"]\n[[events]]\nis = \"said\"\ntext = \"/x\"";
    let cli = Cli::of("mine", &table(own)).unwrap();
    let crew = ["crew".to_owned()];
    assert_eq!(cli.argv(&known(&crew)), ["mine", "[\"crew\"]", "{", "{a b}"]);
    assert_eq!(read(&cli.events, br#"{"x":"hello"}"#), [Event::Said("hello".into())]);
    assert_eq!(read(&cli.events, b"no JSON"), []);
    // Of one that is known, what is not said is as it is known.
    let other = Cli::of("codex", &table("program = \"/opt/codex\"")).unwrap();
    assert_eq!((other.program.as_str(), &other.events), ("/opt/codex", &built_in()["codex"].events));
    for (text, problem) in [
        ("program = \"x\"", "missing field"),
        ("program = \"x\"\nprogam = 1", "unknown field"),
        ("provider = \"a\"\nprogram = \" \"\narguments = []\nevents = []", "name the program"),
        ("provider = \"a\"\nprogram = \"x\"\narguments = []\nresume = [\"{sesion}\"]\nevents = []", "nothing is known of {sesion}"),
        ("provider = \"a\"\nprogram = \"x\"\narguments = [\"-k{key}\"]\nevents = []", "a key is no argument"),
        ("provider = \"a\"\nprogram = \"x\"\narguments = []\nevents = []\n[files]\n\"../x\" = \"\"", "is no name"),
        ("provider = \"a\"\nprogram = \"x\"\narguments = []\nevents = []\n[files]\n\"/etc/x\" = \"\"", "is no name"),
        ("provider = \"a\"\nprogram = \"x\"\narguments = []\n[[events]]\nis = \"said\"\ntext = \"x\"", "JSON pointer"),
    ] {
        let said = Cli::of("mine", &table(text)).unwrap_err().to_string();
        assert!(said.contains("[clis.mine]") && said.contains(problem), "{text}: {said}");
    }
    for name in ["../x", "a/b", "", ".", "a b"] {
        assert!(Cli::of(name, &table(own)).is_err(), "{name:?} would be part of a path");
    }
    assert_eq!(named("nobody", &BTreeMap::new()).unwrap(), None);
}

#[test]
fn the_example_of_the_readme_is_one() {
    let readme = std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let example = readme.split("```").find(|block| block.contains("[clis.mine]")).unwrap().strip_prefix("toml").unwrap();
    let config = crate::config::parse(example, "config.toml".as_ref()).unwrap();
    let cli = Cli::of("mine", &config.clis["mine"]).unwrap();
    assert_eq!(read(&cli.events, br#"{"type":"start","session":"s1"}"#), [Event::Session("s1".into())]);
    let used = read(&cli.events, br#"{"type":"end","usage":{"in":7,"out":2}}"#);
    assert!(matches!(used[..], [Event::Used(Used { tokens: [7, 2, 0, 0], .. })]), "{used:?}");
    assert!(matches!(read(&cli.events, br#"{"type":"error","code":"quota","resets_at":4000000000}"#)[..], [Event::Limit { until: Some(_), .. }]));
}

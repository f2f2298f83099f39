use super::*;
use crate::profile::{Origin, parse};
use crate::provider::{Proxies, Timeouts};

fn chain(front: &str, config: &str) -> Result<Vec<String>, ModelError> {
    let profile = parse(&format!("---\n{front}\n---\n"), Path::new("alice.md"), Origin::Crew).unwrap();
    let config = crate::config::parse(config, Path::new("config.toml")).unwrap();
    let variable = |name: &str| (name != "UNSET").then(|| "sk-test".to_owned());
    let http = Http::new(Timeouts::default(), Proxies::None).unwrap();
    let sources = Sources { config: &config, project: Path::new("/project"), home: None, variable: &variable, http };
    Ok(of_profile(&profile, &sources)?.iter().map(described).collect())
}

fn described(way: &Way) -> String {
    match way {
        Way::Model(model) => format!("{model:?} {} {}", model.api.api(), model.context),
        Way::Agent(agent) => format!("{agent:?} of {} {}", agent.account, agent.keys()[1]),
    }
}

#[test]
fn its_own_model_then_those_of_other_providers() {
    let fallback = "runner: anthropic\nmodel: big\ncontext: 1000\nfallback: [openai/other, local/small]";
    let config = "[accounts.local]\nkind = \"openai\"\nbaseUrl = \"http://localhost:8080/v1\"\n[accounts.paid]\nkind = \"openai\"";
    assert!(matches!(chain(fallback, config), Err(ModelError::WhichAccount { .. })));
    let config = "[accounts.local]\nkind = \"openai\"\nbaseUrl = \"http://localhost:8080/v1\"";
    assert_eq!(
        chain("runner: anthropic\nmodel: big\ncontext: 1000\nfallback: [local/small]", config).unwrap(),
        ["anthropic/big anthropic 1000", "local/small openai-chat 128000"]
    );
    assert_eq!(chain("runner: openai\nmodel: o", "").unwrap(), ["openai/o openai-responses 128000"]);
    assert_eq!(chain("runner: openai\nmodel: o\nbaseUrl: http://localhost:1/v1", "").unwrap(), ["openai/o openai-chat 128000"]);
}

#[test]
fn what_cannot_be_called_says_why() {
    let two = "[accounts.a]\nkind = \"anthropic\"\n[accounts.b]\nkind = \"anthropic\"";
    assert_eq!(chain("runner: anthropic", ""), Err(ModelError::NoModel));
    assert_eq!(chain("runner: anthropic\nmodel: m\naccount: c", two), Err(ModelError::NoAccount("c".into())));
    assert_eq!(chain("runner: anthropic\nmodel: m\naccount: a\nfallback: b/m", two), Err(ModelError::SameProvider("b/m".into())), "another account of it");
    assert!(matches!(chain("runner: openai\nmodel: m\naccount: a", two), Err(ModelError::OtherKind { .. })));
    assert_eq!(chain("runner: openai\nmodel: m\nfallback: nobody/m", ""), Err(ModelError::Word("nobody/m".into())));
    assert_eq!(chain("runner: openai\nmodel: m\ntoolMode: jsn", ""), Err(ModelError::ToolMode("jsn".into())));
    let unset = "[accounts.a]\nkind = \"anthropic\"\nkeyEnv = \"UNSET\"";
    assert!(matches!(chain("runner: anthropic\nmodel: m", unset), Err(ModelError::Account(_))));
}

#[test]
fn a_coding_cli_is_one_of_the_chain() {
    assert_eq!(chain("runner: claude-code", "").unwrap(), ["claude-code of claude-code claude-code/claude-code"]);
    let config = "[accounts.plan]\nkind = \"claude-code\"\n[accounts.team]\nkind = \"codex\"";
    assert_eq!(
        chain("runner: claude-code\nmodel: opus\nfallback: [codex/gpt, gemini]", config).unwrap(),
        ["claude-code/opus of plan plan/opus", "codex/gpt of team team/gpt", "gemini of gemini gemini/gemini"]
    );
    assert_eq!(chain("runner: codex\nfallback: anthropic/big", "").unwrap(), ["codex of codex codex/codex", "anthropic/big anthropic 200000"]);
    // A subscription and a key of the same provider are the same provider.
    assert_eq!(chain("runner: claude-code\nfallback: anthropic/big", ""), Err(ModelError::SameProvider("anthropic/big".into())));
    assert_eq!(chain("runner: openai\nmodel: o\nfallback: codex", ""), Err(ModelError::SameProvider("codex".into())));
    assert!(matches!(chain("runner: codex\naccount: plan", config), Err(ModelError::OtherKind { .. })));
    assert!(matches!(chain("runner: codex\ntools: [Read]", ""), Err(ModelError::Tools(_))));
    assert_eq!(chain("runner: claude-code\nwrites: false\npermissionMode: bypassPermissions", ""), Err(ModelError::WritesAfterAll));
    assert_eq!(chain("runner: codex\ncontext: 5", ""), Err(ModelError::NotOfCli("context")));
    for front in ["model: --yolo", "effort: -x", "permissionMode: --yolo", "fallback: codex/--yolo"] {
        assert!(matches!(chain(&format!("runner: claude-code\n{front}"), ""), Err(ModelError::Dash(_))), "{front}");
    }
    assert!(matches!(chain("runner: nobody", ""), Err(ModelError::NoCli { .. })));
    let own = "[clis.mine]\nprovider = \"me\"\nprogram = \"mine\"\narguments = []\nevents = []";
    assert_eq!(chain("runner: mine\nmodel: m", own).unwrap(), ["mine/m of mine mine/m"]);
    assert!(matches!(chain("runner: mine", "[clis.mine]\nprogram = 1"), Err(ModelError::Cli(_))));
}

#[test]
fn what_keeps_a_cli_from_being_asked_is_its_accounts_or_its_models() {
    let profile = parse("---\nrunner: claude-code\nmodel: opus\nfallback: codex\n---\n", Path::new("alice.md"), Origin::Crew).unwrap();
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let limits = |keys: &[&str]| keys.iter().map(|key| ((*key).to_owned(), Limit { why: (*key).into(), ..Limit::default() })).collect::<BTreeMap<_, _>>();
    let of = |keys: &[&str]| limit(&profile, &Config::default(), &limits(keys), now);
    assert_eq!(of(&["claude-code"]), None, "the other can be asked");
    assert!(of(&["claude-code", "codex"]).is_some());
    assert!(of(&["claude-code/opus", "codex/codex"]).is_some());
    assert_eq!(of(&["claude-code/other", "codex"]), None);
}

#[test]
fn a_key_goes_to_no_address_that_it_was_not_named_for() {
    let has_key = |front: &str, config: &str| {
        let profile = parse(&format!("---\n{front}\n---\n"), Path::new("alice.md"), Origin::Crew).unwrap();
        let config = crate::config::parse(config, Path::new("config.toml")).unwrap();
        let variable = |_: &str| Some("sk-test".to_owned());
        let http = Http::new(Timeouts::default(), Proxies::None).unwrap();
        let sources = Sources { config: &config, project: Path::new("/project"), home: None, variable: &variable, http };
        let chain = of_profile(&profile, &sources).unwrap();
        matches!(&chain[0], Way::Agent(agent) if agent.has_key())
    };
    assert!(has_key("runner: claude-code", ""));
    assert!(!has_key("runner: claude-code\nbaseUrl: http://evil.example", ""));
    assert!(!has_key("runner: claude-code", "[accounts.a]\nkind = \"claude-code\"\nbaseUrl = \"http://evil.example\""));
    assert!(!has_key("runner: claude-code\naccount: a\nbaseUrl: http://evil.example", "[accounts.a]\nkind = \"anthropic\""));
    assert!(has_key("runner: claude-code\naccount: a\nbaseUrl: http://mine.example", "[accounts.a]\nkind = \"anthropic\"\nkeyEnv = \"MINE\""));
}

use super::*;
use crate::profile::{Origin, parse};
use crate::provider::{Proxies, Timeouts};

fn chain(front: &str, config: &str) -> Result<Vec<String>, ModelError> {
    let profile = parse(&format!("---\n{front}\n---\n"), Path::new("alice.md"), Origin::Crew).unwrap();
    let config = crate::config::parse(config, Path::new("config.toml")).unwrap();
    let variable = |name: &str| (name != "UNSET").then(|| "sk-test".to_owned());
    let http = Http::new(Timeouts::default(), Proxies::None).unwrap();
    let sources = Sources { config: &config, project: Path::new("/project"), home: None, variable: &variable, http };
    Ok(of_profile(&profile, &sources)?.iter().map(|model| format!("{model:?} {} {}", model.api.api(), model.context)).collect())
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

use super::*;

fn account(text: &str) -> Result<Account, AccountError> {
    Account::of("work1", &text.parse().unwrap())
}

fn none(_: &str) -> Option<String> {
    None
}

#[test]
fn what_a_table_says() {
    let cases = [
        ("kind = \"anthropic\"", KeySource::Env("ANTHROPIC_API_KEY".into()), Auth::ApiKey),
        ("kind = \"openai\"", KeySource::Env("OPENAI_API_KEY".into()), Auth::Bearer),
        ("kind = \"openai\"\nbaseUrl = \"http://localhost:8080/v1\"", KeySource::None, Auth::Bearer),
        ("kind = \"anthropic\"\nauth = \"bearer\"\nkeyEnv = \"WORK_KEY\"", KeySource::Env("WORK_KEY".into()), Auth::Bearer),
        ("kind = \"anthropic\"\nkeyFile = \"~/key\"", KeySource::File("~/key".into()), Auth::ApiKey),
        ("kind = \"codex\"", KeySource::None, Auth::Bearer),
    ];
    for (text, key, auth) in cases {
        let account = account(text).unwrap();
        assert_eq!((account.key, account.auth), (key, auth), "{text}");
    }
    assert_eq!(account("kind = \"codex\"\nlanes = 2").unwrap().lanes, Some(2));
    assert_eq!(Account::usual(AccountKind::Anthropic), Account { name: "anthropic".into(), ..account("kind = \"anthropic\"").unwrap() });
}

#[test]
fn what_is_wrong_is_said_without_the_secret() {
    let cases = [
        ("", "`kind` is missing: one of anthropic, openai, claude-code, codex"),
        ("kind = \"antropic\"", "unknown `kind` \"antropic\": did you mean \"anthropic\"?"),
        ("kind = \"openai\"\nkeyenv = \"X\"", "unknown key \"keyenv\": did you mean \"keyEnv\"?"),
        ("kind = \"openai\"\nkeyEnv = \"A\"\nkeyFile = \"/b\"", "are both there"),
        ("kind = \"openai\"\napiKey = \"s3cr3t-value\"", "a key stands in no file of the project"),
        ("kind = \"openai\"\nkeyEnv = \"s3cr3t-value\"", "the name of an environment variable, not the key"),
        ("kind = \"openai\"\nbaseUrl = \"http://u:s3cr3t@host/\"", "neither a name and password"),
        ("kind = \"openai\"\nbaseUrl = \"file:///s3cr3t\"", "begins with http"),
        ("kind = \"openai\"\nbaseUrl = \"nonsense\"", "is no address"),
        ("kind = \"openai\"\nauth = \"basic\"", "`auth` is"),
        ("kind = \"openai\"\nlanes = 0", "`lanes` is a whole number from 1"),
        ("kind = 1", "`kind` is no text"),
    ];
    for (text, expected) in cases {
        let message = account(text).unwrap_err().to_string();
        assert!(message.starts_with("account \"work1\": ") && message.contains(expected) && !message.contains("s3cr3t"), "{message}");
    }
}

#[test]
fn where_the_key_comes_from() {
    let temp = tempfile::tempdir().unwrap();
    let (project, home) = (temp.path().join("project"), temp.path().join("home"));
    std::fs::create_dir(&project).unwrap();
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("key"), " of-file \n").unwrap();
    std::fs::write(home.join("two"), "one\ntwo\n").unwrap();
    std::fs::write(project.join("key"), "x").unwrap();
    std::os::unix::fs::symlink(project.join("key"), home.join("link")).unwrap();
    let of = |text: &str, base: Option<&str>| {
        let variable = |name: &str| ["WORK_KEY", "OPENAI_API_KEY"].contains(&name).then(|| "of-variable".to_owned());
        account(text).unwrap().endpoint(base, variable, &project, Some(&home))
    };
    let key = |text: &str, base: Option<&str>| of(text, base).unwrap().key.map(|key| key.expose().to_owned());
    assert_eq!(key("kind = \"openai\"\nkeyEnv = \"WORK_KEY\"", None).as_deref(), Some("of-variable"));
    assert_eq!(key("kind = \"openai\"\nkeyFile = \"~/key\"", None).as_deref(), Some("of-file"));
    assert_eq!(key("kind = \"openai\"", None).as_deref(), Some("of-variable"));
    assert_eq!(key("kind = \"openai\"", Some("http://localhost/v1")), None, "not sent to a server that it was not named for");
    assert_eq!(key("kind = \"openai\"\nkeyEnv = \"WORK_KEY\"", Some("http://localhost/v1")).as_deref(), Some("of-variable"));
    assert_eq!(of("kind = \"anthropic\"\nkeyEnv = \"WORK_KEY\"", None).unwrap().base, anthropic::BASE);
    let inside = format!("kind = \"openai\"\nkeyFile = \"{}\"", project.join("key").display());
    for (text, expected) in [
        ("kind = \"anthropic\"", "ANTHROPIC_API_KEY with its key is not set"),
        ("kind = \"openai\"\nkeyFile = \"key\"", "a path from the root"),
        ("kind = \"openai\"\nkeyFile = \"~/none\"", "cannot read the key file"),
        ("kind = \"openai\"\nkeyFile = \"~/two\"", "is no key"),
        ("kind = \"openai\"\nkeyFile = \"~/link\"", "lies in the project"),
        (&inside, "lies in the project"),
        ("kind = \"codex\"", "is for that program only"),
    ] {
        let message = of(text, None).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    assert!(account("kind = \"openai\"").unwrap().endpoint(None, none, &project, None).is_err());
}

#[test]
fn nothing_prints_a_key() {
    let key = Key::of("sk-proj-abcdef123456").unwrap();
    let endpoint = Endpoint { base: "http://localhost".into(), key: Some(key.clone()), auth: Auth::Bearer };
    assert!(!format!("{endpoint:?}").contains("abcdef"));
    let cases = [
        ("wrong key sk-proj-abcdef123456.", "wrong key [key]."),
        ("wrong key provided: sk-proj-****3456, see", "wrong key provided: [key], see"),
        ("a task-list and a desk-bound sk-", "a task-list and a desk-bound sk-"),
        ("nothing", "nothing"),
    ];
    for (text, expected) in cases {
        assert_eq!(key.redact(text), expected);
    }
    assert_eq!(Key::of("plain").unwrap().redact("not plain?"), "not [key]?");
    assert!(Key::of(" ").is_none() && Key::of("a\nb").is_none() && Key::of("é").is_none());
}

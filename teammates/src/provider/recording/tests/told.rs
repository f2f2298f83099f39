//! What has a placeholder, and what it is worth elsewhere.

use proptest::prelude::*;

use super::super::names::{Named, Names, Seen};
use super::Machine;
use std::path::Path;

fn plain(text: &str) -> String {
    let names =
        Names::of(&[(Named::Home, Path::new("/home/ann")), (Named::Project, Path::new("/home/ann/demo")), (Named::State, Path::new("/var/crew/demo-1f"))]);
    names.plain(text, &mut Seen::default())
}

#[test]
fn what_differs_from_run_to_run_has_a_placeholder() {
    let cases = [
        ("/home/ann/demo/a and /home/ann/demo.", "{project}/a and {project}."),
        ("/home/ann/demolition /home/ann/demo.bak x/home/ann/demo", "{home}/demolition {home}/demo.bak x/home/ann/demo"),
        (r#"{"path":"/home/ann/demo","said":"a\n/home/ann/demo"}"#, r#"{"path":"{project}","said":"a\n{project}"}"#),
        ("/var/crew/demo-1f/logs/0123456789ab-7.log", "{state}/logs/{turn}.log"),
        ("team: demo. team: demonstration", "team: {team}. team: demonstration"),
        ("at 2026-01-02T03:04:05.123Z, 2026-01-02 03:04:05 +0100", "at {time}, {time}"),
        ("Date:   Thu Jan 2 03:04:05 2026 +0000", "Date:   {time}"),
        ("-rw-r--r-- 1 ann ann 5 Jan  2 03:04 a.txt", "-rw-r--r-- 1 ann ann 5 {time} a.txt"),
        ("in 0.03s, 12 ms, 0m10.142s; 3 s.", "in {span}, {span}, {span}; {span}."),
        ("# duration_ms 12.5", "# {span}"),
        ("3 sails, 5 msgs, 12 apples", "3 sails, 5 msgs, 12 apples"),
        ("[1234 bytes before this: read_file]", "[{bytes} before this: read_file]"),
        ("(process group 4711) kill -- -4711, pid 12", "(process group {pid}) kill -- -{pid}, pid {pid}"),
        ("commit 0123456789012345678901234567890123456789", "commit {object}"),
        (
            "1a2b3c4 Mend it\nindex 1234567..89abcde 100644\n[main 1234567] x\n1234567 y",
            "{object} Mend it\nindex {object}..{object} 100644\n[main {object}] x\n{object} y",
        ),
        ("it costs 1234567 and is defaced", "it costs 1234567 and is defaced"),
        ("/tmp/.tmpAbC1/x /var/tmp/y.z ./tmp/x a/tmp/y", "{temp}/x {temp} ./tmp/x a/tmp/y"),
    ];
    for (text, expected) in cases {
        assert_eq!(plain(text), expected, "{text}");
    }
}

#[test]
fn what_an_answer_names_is_what_it_was_told_of_last() {
    let names = Names::of(&[(Named::Project, Path::new("/a/demo"))]);
    let seen = |texts: &[&str]| {
        let mut seen = Seen::default();
        texts.iter().for_each(|text| drop(names.plain(text, &mut seen)));
        seen
    };
    let here =
        seen(&["commit 1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d", "process group 77, /tmp/x1", "commit 9f8e7d6", "commit 5a5a5a5, 9f8e7d6", "/tmp/x2 /tmp/x1"]);
    let there = seen(&[
        "commit 0a0b0c0d0e0f0a0b0c0d0a0b0c0d0e0f0a0b0c0d",
        "process group 5, /tmp/abc",
        "commit 7777777",
        "commit 6b6b6b6, commit 7777777",
        "/tmp/abd /tmp/abc",
    ]);
    for (text, recorded, elsewhere) in [
        (
            "git show 9f8e7d6 5a5a5a5 1a2b3c4",
            "git show {object} {object:2} {object:3}",
            "git show 7777777 6b6b6b6 0a0b0c0d0e0f0a0b0c0d0a0b0c0d0e0f0a0b0c0d",
        ),
        ("cat /tmp/x1/y; kill -9 77; echo 77", "cat {temp}/y; kill -9 {pid}; echo 77", "cat /tmp/abc/y; kill -9 5; echo 77"),
        ("{project} {turn:2} {other}", "{literal:project} {literal:turn:2} {other}", "{project} {turn:2} {other}"),
        ("{literal:team}", "{literal:literal:team}", "{literal:team}"),
        ("git show aaaaaa1", "git show aaaaaa1", "git show aaaaaa1"),
    ] {
        assert_eq!(names.concealed(text, &here), recorded);
        assert_eq!(names.real(recorded, &there), elsewhere);
    }
    assert_eq!(names.real("{object:9} {state} {object:99999}", &here), "{object:9} {state} {object:99999}", "nothing of that kind is known");
}

/// What has placeholders, and what looks like it.
const PARTS: &[&str] = &[
    "P!",
    "P!/a.txt",
    "T!",
    "O!",
    "kill -- -N!",
    "process group N!",
    "team: TEAM!",
    " ",
    "\n",
    ".",
    ",",
    "\"",
    "{",
    "}",
    "{project}",
    "{literal:turn}",
    "{object:2}",
    "/tmp/x",
    "commit O!",
    "0.03s",
    "2026-01-02T03:04:05Z",
    "12 bytes",
    "é",
    "word",
    "7",
    "-",
    "\\n",
    ":",
    "/",
];
/// What a model can say of what it was told.
const SAID: &[&str] =
    &["P!", "P!/a.txt", "cd P!/x && T!", "\"T!\"", "git show O!", "kill -9 N!; N2", "team: TEAM!", "{project}", "{literal:turn}", "{object:2}", "/tmp/x", "7"];

fn texts() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PARTS), 0..12).prop_map(|parts| parts.concat())
}

/// Each by itself: what is glued to a path is another path.
fn apart(parts: &'static [&'static str]) -> impl Strategy<Value = String> {
    let ends = prop::sample::select(&[" ", "\n", ", ", "; ", ") "][..]);
    prop::collection::vec((prop::sample::select(parts), ends), 0..8).prop_map(|parts| parts.into_iter().map(|(part, end)| format!("{part}{end}")).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_has_placeholders_already_stays_as_it_is(text in texts()) {
        let machine = Machine::one();
        let names = machine.names();
        let once = names.plain(&machine.say(&text), &mut Seen::default());
        prop_assert_eq!(names.plain(&once, &mut Seen::default()), once);
    }

    #[test]
    fn whatever_is_answered_comes_back(text in texts(), told in texts()) {
        let machine = Machine::one();
        let (names, mut seen) = (machine.names(), Seen::default());
        names.plain(&machine.say(&told), &mut seen);
        let answer = machine.say(&text);
        prop_assert_eq!(names.real(&names.concealed(&answer, &seen), &seen), answer);
    }

    #[test]
    fn another_machine_is_asked_the_same_and_answers_with_its_own(
        told in apart(PARTS),
        said in apart(SAID),
    ) {
        let (here, there) = (Machine::one(), Machine::other());
        let told = told + " T!, commit O!, process group N!";
        let (mut seen_here, mut seen_there) = (Seen::default(), Seen::default());
        let asked = here.names().plain(&here.say(&told), &mut seen_here);
        prop_assert_eq!(&asked, &there.names().plain(&there.say(&told), &mut seen_there));
        let recorded = here.names().concealed(&here.say(&said), &seen_here);
        prop_assert_eq!(there.names().real(&recorded, &seen_there), there.say(&said));
    }
}

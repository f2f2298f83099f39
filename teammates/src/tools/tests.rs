use std::cell::RefCell;
use std::rc::Rc;

use serde_json::json;
use tokio::sync::Notify;

use super::*;
use crate::fixture::run;

/// The arguments of the tools here.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// A number.
    number: u32,
    #[serde(default)]
    word: Option<String>,
}

fn call(name: &str, input: Value) -> ToolCall {
    ToolCall { id: name.into(), name: name.into(), input, malformed: None }
}

fn echo(name: &str, family: Family, access: Access) -> Tool {
    Tool::new(name, "Says the number.", family, access, |input: Input| async move { Answer::done(format!("{} {:?}", input.number, input.word)) })
}

fn profile() -> Profile {
    Profile::named("alice").unwrap()
}

fn names(toolbox: &Toolbox) -> Vec<&str> {
    toolbox.definitions().iter().map(|tool| tool.name.as_str()).collect()
}

fn all() -> Vec<Tool> {
    use Access::{Acts, Reads, Writes};
    let work = [("read_file", Reads), ("write_file", Writes), ("bash", Acts)].map(|(name, access)| echo(name, Family::Work, access));
    let crew = [("post", Acts), ("idle", Acts), ("compact", Acts), ("remember", Acts)].map(|(name, access)| echo(name, Family::Crew, access));
    let server = [echo("browser_open", Family::Server, Acts)];
    work.into_iter().chain(crew).chain(server).collect()
}

#[test]
fn a_profile_narrows_the_tools() {
    let of = |tools: Option<&[&str]>, writes| {
        let profile = Profile { tools: tools.map(|names| names.iter().map(|name| (*name).to_owned()).collect()), writes, ..profile() };
        let unknown: Vec<String> = Toolbox::unknown(&profile, &all()).into_iter().map(str::to_owned).collect();
        (names(&Toolbox::of(&profile, all(), None)).join(" "), unknown.join(" "))
    };
    let crew = "post idle compact remember";
    let cases: [(Option<&[&str]>, bool, &str, &str); 7] = [
        (None, true, "read_file write_file bash post idle compact remember browser_open", ""),
        (None, false, "read_file bash post idle compact remember browser_open", ""),
        (Some(&["read_file"]), true, &format!("read_file {crew}"), ""),
        (Some(&["Read", "Bash(git:*)"]), true, &format!("read_file {crew}"), "Bash(git:*)"),
        (Some(&["write_file"]), false, crew, ""),
        (Some(&["bash", "post"]), true, "bash post idle compact", ""),
        (Some(&[]), true, crew, ""),
    ];
    for (tools, writes, expected, unknown) in cases {
        assert_eq!(of(tools, writes), (expected.to_owned(), unknown.to_owned()), "{tools:?}");
    }
}

#[test]
fn a_schema_comes_from_the_type() {
    let schema = &echo("a", Family::Work, Access::Reads).definition.schema;
    let expected = json!({
        "type": "object",
        "description": "The arguments of the tools here.",
        "properties": {
            "number": { "type": "integer", "format": "uint32", "minimum": 0, "description": "A number." },
            "word": { "type": ["string", "null"], "default": null },
        },
        "required": ["number"],
        "additionalProperties": false,
    });
    assert_eq!(*schema, expected);
}

#[test]
fn what_cannot_be_run_is_answered_with_the_schema() {
    let toolbox = Toolbox::of(&profile(), all(), None);
    let cases = [
        (call("read_file", json!({ "number": 1 })), false, "1 None"),
        (call("read_file", json!({})), true, "missing field `number`"),
        (call("read_file", json!({ "number": "1" })), true, "expected u32. They must fit this schema: {"),
        (call("read_file", json!({ "number": 1, "x": 1 })), true, "unknown field `x`"),
        (call("readfile", json!({})), true, "did you mean \"read_file\"?"),
        (ToolCall { malformed: Some("EOF".into()), ..call("read_file", json!("{")) }, true, "no JSON object: EOF"),
    ];
    for (call, failed, expected) in cases {
        let Answer::Result { text, is_error } = run(toolbox.call(&call)) else { panic!("an effect") };
        assert!(is_error == failed && text.contains(expected), "{text}");
    }
}

#[test]
fn an_argument_that_is_not_for_everybody_is_neither_told_nor_taken() {
    let tool = echo("read_file", Family::Work, Access::Reads).without(&["word"]);
    assert_eq!(tool.definition.schema["properties"].as_object().unwrap().len(), 1);
    let toolbox = Toolbox::of(&profile(), vec![tool], None);
    assert_eq!(run(toolbox.call(&call("read_file", json!({ "number": 1 })))), Answer::done("1 None"));
    let Answer::Result { text, is_error: true } = run(toolbox.call(&call("read_file", json!({ "number": 1, "word": null })))) else { panic!() };
    assert!(text.contains("unknown field `word`"), "{text}");
}

/// Two that wait for each other: run one behind the other they would never end.
fn waiting_for_each_other(access: Access) -> Vec<Tool> {
    let (one, other) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
    let tool = |name, mine: &Rc<Notify>, others: &Rc<Notify>| {
        let (mine, others) = (Rc::clone(mine), Rc::clone(others));
        Tool::new(name, "", Family::Work, access, move |_: Input| {
            let (mine, others) = (Rc::clone(&mine), Rc::clone(&others));
            async move {
                others.notify_one();
                mine.notified().await;
                Answer::done("met")
            }
        })
    };
    vec![tool("one", &one, &other), tool("other", &other, &one)]
}

#[test]
fn calls_that_only_read_run_side_by_side() {
    let toolbox = Toolbox::of(&profile(), waiting_for_each_other(Access::Reads), None);
    let calls = [call("one", json!({ "number": 1 })), call("other", json!({ "number": 2 })), call("one", json!({}))];
    let mut told = Vec::new();
    run(toolbox.answer(&calls, |place, answer| told.push((place, answer))));
    told.sort_by_key(|(place, _)| *place);
    assert_eq!(told[..2], [(0, Answer::done("met")), (1, Answer::done("met"))]);
    assert!(matches!(&told[2], (2, Answer::Result { is_error: true, .. })));
}

#[test]
fn calls_that_act_run_one_behind_the_other() {
    let (toolbox, order) = (Toolbox::of(&profile(), all(), None), RefCell::new(Vec::new()));
    let calls = ["bash", "read_file", "read_file", "write_file"].map(|name| call(name, json!({ "number": 1 })));
    run(toolbox.answer(&calls, |place, _| order.borrow_mut().push(place)));
    assert_eq!(order.take(), [0, 1, 2, 3]);

    let alone = Toolbox::of(&profile(), waiting_for_each_other(Access::Acts), None);
    let calls = [call("one", json!({ "number": 1 })), call("other", json!({ "number": 2 }))];
    let together = run(async {
        let answering = alone.answer(&calls, |_, _| ());
        // What is ready is polled first: the first call never ends, so the second never begins.
        tokio::select! { biased; () = answering => true, () = tokio::task::yield_now() => false }
    });
    assert!(!together);
}

#[test]
fn what_is_called_behind_a_move_is_not_run() {
    let post = Tool::new("post", "", Family::Crew, Access::Acts, |_: Input| async { Answer::Effect(Effect::Idle) });
    let toolbox = Toolbox::of(&profile(), vec![post, echo("bash", Family::Work, Access::Acts)], None);
    let calls = ["bash", "post", "bash", "post"].map(|name| call(name, json!({ "number": 1 })));
    let mut told = Vec::new();
    run(toolbox.answer(&calls, |place, answer| told.push((place, answer))));
    assert_eq!(told, [(0, Answer::done("1 None")), (1, Answer::Effect(Effect::Idle))]);
}

//! A `done` that a model judges: over the network once, and from what was recorded of that in another project.

use serde_json::json;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::stage::Stage;
use crate::scene::until;

const KEY: &str = "sk-s3cr3t-key-of-a-test";

/// An answer of Anthropic's API.
fn says(text: &str) -> ResponseTemplate {
    let events = [
        json!({ "type": "message_start", "message": { "id": "m", "model": "large", "usage": { "input_tokens": 100, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": text } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 7 } }),
        json!({ "type": "message_stop" }),
    ];
    let body: String = events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect();
    ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")
}

/// A run whose first `done` is reopened, and whose second is accepted.
fn goes_on_and_is_completed(stage: &Stage) {
    stage.start();
    stage.says("alice", "--kind done 'it is done'");
    until("it is reopened", || stage.thread().len() == 2);
    stage.turn_of("alice").does("echo two > file; \"$CREW\" post --kind done 'now it is'; exit");
    stage.ends_as("completed");
    let audits: Vec<_> = stage.thread().into_iter().filter(|post| post["from"] == "audit").collect();
    assert_eq!(audits.len(), 2, "{audits:?}");
    assert_eq!((&audits[0]["decision"], &audits[0]["text"]), (&json!("denied"), &json!("the file says one")));
    assert_eq!((&audits[1]["decision"], &audits[1]["re"]), (&json!("approved"), &json!(3)));
    let quota = stage.crew(&["quota", "--by", "teammate", "--json"]).succeeded();
    assert!(quota.out.contains("\"of\":\"audit\"") && quota.out.contains("\"calls\":2"), "{}", quota.out);
    stage.stops();
}

#[test]
fn a_model_reopens_and_accepts_and_both_are_played_elsewhere() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let gap = "{\"accept\": false, \"gap\": \"the file says one\"}";
        Mock::given(any()).respond_with(says(gap)).up_to_n_times(1).with_priority(1).mount(&server).await;
        Mock::given(any()).respond_with(says("{\"accept\": true, \"gap\": \"\"}")).mount(&server).await;
        server
    });
    let accounts = format!("[accounts.judge]\nkind = \"anthropic\"\nkeyFile = \"~/key\"\nbaseUrl = {:?}\n", server.uri());
    let stage = Stage::with(&["alice"], &format!("auditor = \"judge/large\"\n{accounts}"));
    std::fs::write(stage.scene.home().with_file_name("key"), KEY).unwrap();
    let shown = stage.crew(&["arm"]);
    assert!(shown.code() != Some(0) && shown.err.contains("asks the model judge/large as the auditor: it is sent the goal"), "{}", shown.err);
    goes_on_and_is_completed(&stage);
    let requests = runtime.block_on(server.received_requests()).unwrap();
    assert_eq!(requests.len(), 2);
    let last = requests[1].body_json::<serde_json::Value>().unwrap();
    let question: serde_json::Value = serde_json::from_str(last["messages"][0]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert!(question["goal"].as_str().unwrap().contains("as it should be") && question["diff"].as_str().unwrap().contains("+two"), "{question}");

    let recording = std::fs::read_to_string(stage.state.join("logs/audits/recording.jsonl")).unwrap();
    assert!(!recording.contains(KEY) && recording.lines().count() == 3, "{recording}");
    drop(server);
    let elsewhere = Stage::with(&["alice"], "auditor = { script = \"audits.jsonl\" }\n");
    elsewhere.scene.put("audits.jsonl", &recording);
    elsewhere.git(&["add", "."]);
    elsewhere.git(&["commit", "--quiet", "-m", "audits"]);
    goes_on_and_is_completed(&elsewhere);
}

use super::super::anthropic::Anthropic;
use super::*;

fn anthropic(url: &str) -> Box<dyn Provider> {
    Box::new(Anthropic::new(http(), endpoint(&format!("{url}/v1/"), Auth::ApiKey)))
}

#[test]
fn the_request() {
    let (messages, tools) = (messages(), tools());
    let (head, body) = asked(anthropic, &Request { effort: Some("high"), ..request(&messages, &tools) });
    assert!(head.starts_with("post /v1/messages http/1.1"), "{head}");
    for line in ["x-api-key: s3cr3t-key", "anthropic-version: 2023-06-01", "content-type: application/json"] {
        assert!(head.lines().any(|found| found == line), "{line} in {head}");
    }
    assert!(!head.contains("authorization"), "{head}");
    let mark = json!({ "type": "ephemeral" });
    let schema = &tools[0].schema;
    let expected = json!({
        "model": "large", "max_tokens": 1000, "stream": true,
        "thinking": { "type": "adaptive" }, "output_config": { "effort": "high" },
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": mark }],
        "tools": [
            { "name": "read_file", "description": "Does read_file.", "input_schema": schema },
            { "name": "post", "description": "Does post.", "input_schema": schema },
        ],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "You are alice." }, { "type": "text", "text": "Mend it.", "cache_control": mark }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "c_1", "name": "read_file", "input": { "path": "a" } },
                { "type": "tool_use", "id": "c2", "name": "post", "input": { "malformed": "{bad" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c_1", "content": "content of a" },
                { "type": "tool_result", "tool_use_id": "c2", "content": "wrong", "is_error": true },
                { "type": "text", "text": "bob says hello", "cache_control": mark },
            ] },
        ],
    });
    assert_eq!(body, expected);
}

#[test]
fn effort_marks_and_keys() {
    let tools = tools();
    let mut messages: Vec<Message> = (0..4).flat_map(|_| [Message::user(vec![Block::text("u")]), Message::assistant(vec![Block::text("a")])]).collect();
    messages.pop();
    let bearer = |url: &str| Box::new(Anthropic::new(http(), endpoint(url, Auth::Bearer))) as Box<dyn Provider>;
    let (head, body) = asked(bearer, &Request { effort: Some("4000"), ..request(&messages, &tools) });
    assert!(head.contains("authorization: bearer s3cr3t-key") && !head.contains("x-api-key"), "{head}");
    assert_eq!((&body["thinking"], &body["max_tokens"]), (&json!({ "type": "enabled", "budget_tokens": 4000 }), &json!(5000)));
    let marked: Vec<bool> = body["messages"].as_array().unwrap().iter().map(|message| !message["content"][0]["cache_control"].is_null()).collect();
    assert_eq!(marked, [true, false, false, false, true, false, true], "with the instructions four, as many as there may be");

    let (_, body) = asked(bearer, &Request { effort: Some("off"), system: " ", ..request(&messages, &tools) });
    assert_eq!((&body["thinking"], body.get("system")), (&json!({ "type": "disabled" }), None));
    assert!(body["tools"][1]["cache_control"].is_object() && body["tools"][0].get("cache_control").is_none());
    let (_, body) = asked(bearer, &Request { tools: &[], system: "", ..request(&messages, &[]) });
    assert!(body.get("tools").is_none() && body.get("thinking").is_none(), "{body}");
}

fn events(stop: &str) -> Vec<Value> {
    vec![
        json!({ "type": "message_start", "message": { "id": "msg_1", "model": "large-2", "usage": { "input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 30, "output_tokens": 1 } } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "", "signature": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "hm" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "c2ln" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "I läse " } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "日本 🦀" } }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "of_a_kind_to_come", "x": 1 } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "x_delta", "text": "?" } }),
        json!({ "type": "content_block_stop", "index": 2 }),
        json!({ "type": "content_block_start", "index": 3, "content_block": { "type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {} } }),
        json!({ "type": "content_block_start", "index": 4, "content_block": { "type": "tool_use", "id": "toolu_2", "name": "list", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 3, "delta": { "type": "input_json_delta", "partial_json": "{\"path\":" } }),
        json!({ "type": "content_block_delta", "index": 4, "delta": { "type": "input_json_delta", "partial_json": "" } }),
        json!({ "type": "content_block_delta", "index": 3, "delta": { "type": "input_json_delta", "partial_json": "\"a/ü\"}" } }),
        json!({ "type": "content_block_stop", "index": 3 }),
        json!({ "type": "content_block_stop", "index": 4 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": { "output_tokens": 40 } }),
        json!({ "type": "message_stop" }),
    ]
}

#[test]
fn the_answer() {
    let (told, answer) = however_it_is_cut(&sse(&events("tool_use")), anthropic);
    let expected = Response {
        blocks: vec![
            thinking("anthropic", json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" })),
            Block::text("I läse 日本 🦀"),
            call("toolu_1", "read_file", json!({ "path": "a/ü" })),
            call("toolu_2", "list", json!({})),
        ],
        stop: Stop::ToolUse,
        usage: Usage { input: 10, output: 40, cache_read: 20, cache_write: 30 },
        id: Some("msg_1".into()),
        model: Some("large-2".into()),
        limits: vec![],
    };
    assert_eq!(answer, expected);
    assert_eq!(answer.usage.context(), 100);
    assert_eq!(told, ["Thinking(\"hm\")", "Text(\"I läse \")", "Text(\"日本 🦀\")", "ToolCall(\"read_file\")", "ToolCall(\"list\")"]);
}

#[test]
fn how_it_stops() {
    let stopped = |events: Vec<Value>| {
        run(async {
            let server = Server::of(vec![Answer::events(&events)]).await;
            turn(anthropic(&server.url).as_ref()).await.1
        })
    };
    for (word, stop) in [
        ("end_turn", Stop::Done),
        ("stop_sequence", Stop::Done),
        ("pause_turn", Stop::Paused),
        ("max_tokens", Stop::MaxOutput),
        ("new", Stop::Other("new".into())),
    ] {
        assert_eq!(stopped(events(word)).unwrap().stop, stop);
    }
    let refused = stopped(events("refusal")).unwrap_err();
    assert_eq!((refused.kind, refused.message.as_str(), refused.usage.output), (Kind::Refused, "I läse 日本 🦀", 40));
    let mut explained = events("refusal");
    explained.iter_mut().for_each(|event| event["delta"]["stop_details"] = json!({ "type": "refusal", "category": "bio", "explanation": null }));
    assert_eq!(stopped(explained).unwrap_err().message, "bio");
    assert_eq!(stopped(events("model_context_window_exceeded")).unwrap_err().kind, Kind::TooLong);

    // Cut off within the arguments, and one whose thoughts have no signature.
    let mut events = events("max_tokens");
    events.retain(|event| event["index"] != 3 || event["type"] != "content_block_stop");
    events.retain(|event| event["delta"]["partial_json"] != "\"a/ü\"}" && event["delta"]["type"] != "signature_delta");
    let blocks = stopped(events).unwrap().blocks;
    assert!(!blocks.iter().any(|block| matches!(block, Block::Thinking(_))));
    let Some(Block::ToolCall(cut)) = blocks.get(1) else { panic!("{blocks:?}") };
    assert!(cut.malformed.as_ref().unwrap().contains("cut off"), "{cut:?}");

    assert_eq!(stopped(vec![json!({ "type": "message_stop" })]).unwrap().blocks, []);
}

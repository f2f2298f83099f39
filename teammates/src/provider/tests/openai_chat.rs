use super::super::openai_chat::{OpenAiChat, ToolMode};
use super::*;

fn chat(url: &str) -> Box<dyn Provider> {
    Box::new(OpenAiChat::new(http(), endpoint(&format!("{url}/v1"), Auth::Bearer), ToolMode::Native))
}

fn json_mode(url: &str) -> Box<dyn Provider> {
    let endpoint = Endpoint { key: None, ..endpoint(&format!("{url}/v1"), Auth::Bearer) };
    Box::new(OpenAiChat::new(http(), endpoint, ToolMode::Json))
}

#[test]
fn the_request() {
    let (messages, tools) = (messages(), tools());
    let (head, body) = asked(chat, &Request { effort: Some("low"), ..request(&messages, &tools) });
    assert!(head.starts_with("post /v1/chat/completions http/1.1") && head.contains("authorization: bearer s3cr3t-key"), "{head}");
    let function =
        |name: &str| json!({ "type": "function", "function": { "name": name, "description": format!("Does {name}."), "parameters": tools[0].schema } });
    let expected = json!({
        "model": "large", "max_tokens": 1000, "stream": true, "stream_options": { "include_usage": true }, "reasoning_effort": "low",
        "tools": [function("read_file"), function("post")],
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "You are alice.\n\nMend it." },
            { "role": "assistant", "content": "I look.", "tool_calls": [
                { "id": "c.1", "type": "function", "function": { "name": "read_file", "arguments": "{\"path\":\"a\"}" } },
                { "id": "c2", "type": "function", "function": { "name": "post", "arguments": "{\"malformed\":\"{bad\"}" } },
            ] },
            { "role": "tool", "tool_call_id": "c.1", "content": "content of a" },
            { "role": "tool", "tool_call_id": "c2", "content": "Error: wrong" },
            { "role": "user", "content": "bob says hello" },
        ],
    });
    assert_eq!(body, expected);
    let silent = [messages[0].clone(), Message::assistant(vec![call("c", "post", json!({}))]), Message::user(vec![result("c", "", false)])];
    let (_, body) = asked(chat, &request(&silent, &[]));
    assert_eq!((body.get("tools"), &body["messages"][2]["content"], body["messages"].as_array().unwrap().len()), (None, &Value::Null, 4));
}

#[test]
fn the_request_in_json_mode() {
    let (messages, tools) = (messages(), tools());
    let (head, body) = asked(json_mode, &request(&messages, &tools));
    assert!(!head.contains("authorization"), "there is no key: {head}");
    assert!(body.get("tools").is_none());
    let of = |name: &str| {
        let properties = json!({ "tool": { "type": "string", "const": name }, "input": tools[0].schema });
        json!({ "type": "object", "properties": properties, "required": ["tool", "input"], "additionalProperties": false })
    };
    let schema = json!({ "anyOf": [of("read_file"), of("post")] });
    assert_eq!(body["response_format"], json!({ "type": "json_schema", "json_schema": { "name": "call", "schema": schema } }));
    let said: Vec<(&str, &str)> =
        body["messages"].as_array().unwrap().iter().map(|message| (message["role"].as_str().unwrap(), message["content"].as_str().unwrap())).collect();
    assert!(said[0].0 == "system" && said[0].1.starts_with("Be brief.") && said[0].1.contains("- post: Does post."), "{said:?}");
    let expected = [
        ("user", "You are alice.\n\nMend it."),
        ("assistant", "I look.\n\n{\"tool\":\"read_file\",\"input\":{\"path\":\"a\"}}\n\n{bad"),
        ("user", "Result:\n    content of a\n\nResult:\n    Error: wrong\n\nbob says hello"),
    ];
    assert_eq!(said[1..], expected);
    let (_, body) = asked(json_mode, &request(&messages, &tools[..1]));
    assert_eq!(body["response_format"]["json_schema"]["schema"], of("read_file"));
}

fn chunk(delta: Value, finish: Value) -> Value {
    json!({ "id": "c-1", "model": "large-2", "error": null, "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

fn usage() -> Value {
    json!({ "id": "c-1", "model": "large-2", "choices": [], "usage": { "prompt_tokens": 30, "completion_tokens": 5, "prompt_tokens_details": { "cached_tokens": 20, "cache_write_tokens": 4 } } })
}

fn stream(events: &[Value]) -> String {
    format!(": comment\r\n\r\n{}data: [DONE]\n\n", events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect::<String>())
}

#[test]
fn the_answer() {
    let piece = |index: usize, id: Value, name: Value, arguments: &str| json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": name, "arguments": arguments } }] });
    let events = [
        chunk(json!({ "role": "assistant", "content": "" }), Value::Null),
        chunk(json!({ "reasoning_content": "hm" }), Value::Null),
        chunk(json!({ "content": "Ich läse 🦀" }), Value::Null),
        chunk(piece(0, json!("a"), json!("read_file"), ""), Value::Null),
        chunk(piece(1, json!("b"), json!("post"), "{\"x\""), Value::Null),
        chunk(piece(0, Value::Null, Value::Null, "{\"path\":\"ü\"}"), Value::Null),
        chunk(piece(1, Value::Null, Value::Null, ":1}"), Value::Null),
        chunk(json!({}), json!("tool_calls")),
        usage(),
    ];
    let (told, answer) = however_it_is_cut(&stream(&events), chat);
    let expected = Response {
        blocks: vec![Block::text("Ich läse 🦀"), call("a", "read_file", json!({ "path": "ü" })), call("b", "post", json!({ "x": 1 }))],
        stop: Stop::ToolUse,
        usage: Usage { input: 6, output: 5, cache_read: 20, cache_write: 4 },
        id: Some("c-1".into()),
        model: Some("large-2".into()),
        limits: vec![],
    };
    assert_eq!(answer, expected);
    assert_eq!(told, ["Thinking(\"hm\")", "Text(\"Ich läse 🦀\")", "ToolCall(\"read_file\")", "ToolCall(\"post\")"]);
}

fn answered(provider: fn(&str) -> Box<dyn Provider>, events: &[Value]) -> Result<Response, ProviderError> {
    run(async {
        let server = Server::of(vec![Answer::stream(vec![stream(events).into_bytes()], super::super::fake::End::Whole)]).await;
        turn(provider(&server.url).as_ref()).await.1
    })
}

#[test]
fn how_it_stops_and_what_other_servers_say() {
    let words = |finish: &str| answered(chat, &[chunk(json!({ "content": "x" }), json!(finish)), usage()]);
    for (finish, stop) in [("stop", Stop::Done), ("length", Stop::MaxOutput), ("new", Stop::Other("new".into()))] {
        assert_eq!(words(finish).unwrap().stop, stop);
    }
    let filtered = words("content_filter").unwrap_err();
    assert_eq!((filtered.kind, filtered.usage.output), (Kind::Refused, 5));
    let refused = answered(chat, &[chunk(json!({ "refusal": "I won't." }), Value::Null), chunk(json!({}), json!("stop"))]).unwrap_err();
    assert_eq!((refused.kind, refused.message.as_str()), (Kind::Refused, "I won't."));

    // Calls without numbers, the second with an object for its arguments, and a stop that does not say so.
    let calls = json!({ "tool_calls": [
        { "id": "a", "function": { "name": "read_file", "arguments": "{\"path\":" } },
        { "function": { "arguments": "\"x\"}" } },
        { "id": "b", "function": { "name": "post", "arguments": { "y": 1 } } },
    ] });
    let answer = answered(chat, &[chunk(calls, json!("stop"))]).unwrap();
    assert_eq!(answer.blocks, [call("a", "read_file", json!({ "path": "x" })), call("b", "post", json!({ "y": 1 }))]);
    assert_eq!(answer.stop, Stop::ToolUse);

    // A character that was cut in two.
    let halves = r#"data: {"choices":[{"delta":{"content":"x\ud83e"}}]}"#.to_owned()
        + "\n\n"
        + r#"data: {"choices":[{"delta":{"content":"\udd80"},"finish_reason":"stop"}]}"#;
    let (_, answer) = however_it_is_cut(&halves, chat);
    assert_eq!(answer.blocks, [Block::text("x\u{fffd}\u{fffd}")]);

    let broken = json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "post", "arguments": "{\"x\": tru" } }] });
    for (finish, expected) in [("tool_calls", "at line 1"), ("length", "cut off")] {
        let answer = answered(chat, &[chunk(broken.clone(), json!(finish))]).unwrap();
        let [Block::ToolCall(call)] = answer.blocks.as_slice() else { panic!("{answer:?}") };
        assert!(call.malformed.as_ref().unwrap().contains(expected) && call.input == json!("{\"x\": tru"), "{call:?}");
        assert!(super::super::call::refusal(call, &tools()).unwrap().contains("\"required\":[\"path\"]"));
    }
}

#[test]
fn the_answer_in_json_mode() {
    let said = |text: &str| answered(json_mode, &[chunk(json!({ "content": text }), json!("stop")), usage()]).unwrap();
    let answer = said(" {\"tool\": \"post\", \"input\": {\"path\": \"x\"}}\n");
    assert_eq!((answer.blocks, answer.stop), (vec![call("call", "post", json!({ "path": "x" }))], Stop::ToolUse));
    for (text, problem) in
        [("I think", "expected value"), ("[]", "no object"), ("{\"input\": {}}", "does not name one"), ("{\"tool\": \"post\"}", "\"input\" is no object")]
    {
        let answer = said(text);
        let [Block::ToolCall(call)] = answer.blocks.as_slice() else { panic!("{answer:?}") };
        assert!(call.malformed.as_ref().unwrap().contains(problem) && call.input == json!(text), "{call:?}");
        assert!(super::super::call::refusal(call, &tools()).unwrap().contains(problem), "the model is told");
    }
    assert_eq!(said(" ").blocks, []);
}

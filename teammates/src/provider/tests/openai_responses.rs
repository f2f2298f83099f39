use super::super::openai_responses::OpenAiResponses;
use super::*;

fn responses(url: &str) -> Box<dyn Provider> {
    Box::new(OpenAiResponses::new(http(), endpoint(&format!("{url}/v1"), Auth::Bearer)))
}

#[test]
fn the_request() {
    let (messages, tools) = (messages(), tools());
    let (head, body) = asked(responses, &Request { effort: Some("high"), ..request(&messages, &tools) });
    assert!(head.starts_with("post /v1/responses http/1.1") && head.contains("authorization: bearer s3cr3t-key"), "{head}");
    let function =
        |name: &str| json!({ "type": "function", "name": name, "description": format!("Does {name}."), "parameters": tools[0].schema, "strict": false });
    let said = |text: &str| json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] });
    let expected = json!({
        "model": "large", "max_output_tokens": 1000, "stream": true, "store": false, "instructions": "Be brief.",
        "reasoning": { "effort": "high", "summary": "auto" }, "include": ["reasoning.encrypted_content"],
        "tools": [function("read_file"), function("post")],
        "input": [
            said("You are alice."),
            said("Mend it."),
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j" },
            { "type": "message", "role": "assistant", "content": "I look." },
            { "type": "function_call", "call_id": "c.1", "name": "read_file", "arguments": "{\"path\":\"a\"}" },
            { "type": "function_call", "call_id": "c2", "name": "post", "arguments": "{\"malformed\":\"{bad\"}" },
            { "type": "function_call_output", "call_id": "c.1", "output": "content of a" },
            { "type": "function_call_output", "call_id": "c2", "output": "Error: wrong" },
            said("bob says hello"),
        ],
    });
    assert_eq!(body, expected);
    let (_, body) = asked(responses, &Request { system: "", ..request(&messages, &[]) });
    assert!(["reasoning", "include", "instructions", "tools"].iter().all(|name| body.get(*name).is_none()), "{body}");
}

fn end(kind: &str, more: Value) -> Value {
    let mut response = json!({ "id": "resp_1", "model": "large-2", "error": null, "incomplete_details": null,
        "usage": { "input_tokens": 30, "output_tokens": 5, "input_tokens_details": { "cached_tokens": 20, "cache_write_tokens": 4 }, "output_tokens_details": { "reasoning_tokens": 2 } } });
    response.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "type": format!("response.{kind}"), "response": response })
}

fn item(index: usize, done: bool, item: Value) -> Value {
    json!({ "type": if done { "response.output_item.done" } else { "response.output_item.added" }, "output_index": index, "item": item })
}

fn function(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments })
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
}

#[test]
fn the_answer() {
    let reasoning =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "hm" }], "encrypted_content": "ZW5j", "status": null });
    let events = [
        json!({ "type": "response.created", "response": { "id": "resp_1" } }),
        item(0, false, json!({ "type": "reasoning", "id": "rs_1", "summary": [] })),
        json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm" }),
        item(0, true, reasoning),
        item(1, false, message("")),
        json!({ "type": "response.output_text.delta", "output_index": 1, "delta": "Ich " }),
        json!({ "type": "response.output_text.delta", "output_index": 1, "delta": "läse 🦀" }),
        item(1, true, message("Ich läse 🦀")),
        item(2, false, function("a", "read_file", "")),
        item(3, false, function("b", "post", "")),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"path\":\"ü\"}" }),
        item(3, true, function("b", "post", "{}")),
        item(2, true, function("a", "read_file", "{\"path\":\"ü\"}")),
        item(4, true, json!({ "type": "of_a_kind_to_come" })),
        end("completed", json!({})),
    ];
    let (told, answer) = however_it_is_cut(&sse(&events), responses);
    let kept = json!({ "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "hm" }], "encrypted_content": "ZW5j" });
    let expected = Response {
        blocks: vec![
            thinking("openai-responses", kept),
            Block::text("Ich läse 🦀"),
            call("a", "read_file", json!({ "path": "ü" })),
            call("b", "post", json!({})),
        ],
        stop: Stop::ToolUse,
        usage: Usage { input: 6, output: 5, cache_read: 20, cache_write: 4 },
        id: Some("resp_1".into()),
        model: Some("large-2".into()),
        limits: vec![],
    };
    assert_eq!(answer, expected);
    assert_eq!(told, ["Thinking(\"hm\")", "Text(\"Ich \")", "Text(\"läse 🦀\")", "ToolCall(\"read_file\")", "ToolCall(\"post\")"]);
}

#[test]
fn how_it_stops() {
    let stopped = |events: &[Value]| {
        run(async {
            let server = Server::of(vec![Answer::events(events)]).await;
            turn(responses(&server.url).as_ref()).await.1
        })
    };
    assert_eq!(stopped(&[item(0, true, message("x")), end("completed", json!({}))]).unwrap().stop, Stop::Done);
    let incomplete = |reason: &str| end("incomplete", json!({ "incomplete_details": { "reason": reason } }));
    let begun = [
        item(0, true, json!({ "type": "reasoning", "id": "rs", "summary": [], "encrypted_content": null })),
        item(2, false, json!({ "type": "reasoning", "id": "rs2", "summary": [], "encrypted_content": "half" })),
        item(1, false, function("a", "post", "")),
        json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"x" }),
    ];
    let answer = stopped(&[begun.as_slice(), &[incomplete("max_output_tokens")]].concat()).unwrap();
    let [Block::ToolCall(cut)] = answer.blocks.as_slice() else { panic!("{answer:?}") };
    assert!(answer.stop == Stop::MaxOutput && cut.malformed.as_ref().unwrap().contains("cut off"), "{answer:?}");
    let filtered = stopped(&[incomplete("content_filter")]).unwrap_err();
    assert_eq!((filtered.kind, filtered.usage.output), (Kind::Refused, 5));
    let refusal = json!({ "type": "message", "content": [{ "type": "refusal", "refusal": "I won't." }] });
    assert_eq!(stopped(&[item(0, true, refusal), end("completed", json!({}))]).unwrap_err().message, "I won't.");

    let failed = |code: &str| stopped(&[end("failed", json!({ "error": { "code": code, "message": "no" } }))]).unwrap_err();
    assert_eq!((failed("server_error").kind, failed("server_error").usage.output), (Kind::Server { status: 200 }, 5));
    assert_eq!(failed("rate_limit_exceeded").kind, Kind::RateLimited { reset: None });
    assert_eq!(failed("context_length_exceeded").kind, Kind::TooLong);
    let error = stopped(&[json!({ "type": "error", "code": "insufficient_quota", "message": "no" })]).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (Kind::Exhausted, "no"));
}

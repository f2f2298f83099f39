use std::time::Instant;

use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::super::fake::End;
use super::*;
use crate::conversation::{Conversation, Identity};
use crate::fixture::alone;

/// What each API makes of one answer.
fn each(answer: &ResponseTemplate) -> Vec<ProviderError> {
    run(async {
        let server = MockServer::start().await;
        Mock::given(any()).respond_with(answer.clone()).mount(&server).await;
        let mut errors = Vec::new();
        for provider in all(&server.uri()) {
            errors.push(turn(provider.as_ref()).await.1.unwrap_err());
        }
        errors
    })
}

fn status(status: u16, kind: &str, message: &str) -> ResponseTemplate {
    let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    ResponseTemplate::new(status).set_body_json(body).insert_header("request-id", "req_1")
}

#[test]
fn every_status_has_its_outcome() {
    let after = Some(Duration::from_secs(9));
    let (again, limit) = (Outcome::Retry { after: None }, Outcome::Limit { reset: None });
    let cases = [
        (status(400, "invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"), Outcome::Compact),
        (status(400, "invalid_request_error", "temperature: no"), Outcome::Fail),
        (status(402, "billing_error", ""), limit),
        (status(403, "permission_error", ""), Outcome::Fail),
        (status(404, "not_found_error", "model: nonesuch"), Outcome::Fail),
        (status(408, "timeout", ""), again),
        (status(413, "request_too_large", ""), Outcome::Compact),
        (status(429, "rate_limit_error", ""), limit),
        (status(500, "api_error", ""), again),
        (ResponseTemplate::new(502).set_body_string("<html>Bad Gateway</html>"), again),
        (status(503, "overloaded_error", "").insert_header("retry-after", "9"), Outcome::Retry { after }),
        (status(529, "overloaded_error", "Overloaded"), again),
        (ResponseTemplate::new(307).insert_header("location", "http://127.0.0.1:1/"), Outcome::Fail),
        (ResponseTemplate::new(200).set_body_json(json!({ "error": { "message": "busy", "type": "overloaded_error" } })), again),
        (ResponseTemplate::new(200).set_body_json(json!({ "error": "model not there" })), again),
        (ResponseTemplate::new(200).set_body_json(json!({ "hello": "world" })), Outcome::Fail),
        (ResponseTemplate::new(200).set_body_string("<html>Log in</html>"), again),
    ];
    for (answer, outcome) in cases {
        for error in each(&answer) {
            assert_eq!(error.outcome(), outcome, "{error:?}");
        }
    }
    let error = &each(&status(404, "not_found_error", "model: nonesuch"))[0];
    assert_eq!(error.to_string(), "the provider did not take the request (HTTP 404): model: nonesuch");
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
}

#[test]
fn a_limit_tells_when_it_is_over() {
    let resets = |answer: ResponseTemplate| {
        let before = board::clock::now();
        let resets: Vec<i64> = each(&answer)
            .into_iter()
            .map(|error| match error.kind {
                Kind::RateLimited { reset: Some(reset) } => reset.duration_since(before).as_secs(),
                other => panic!("{other:?}"),
            })
            .collect();
        resets
    };
    let limited = || status(429, "rate_limit_error", "slow down");
    let an_hour = 3590..=3720;
    assert!(resets(limited().insert_header("retry-after", "3600")).iter().all(|seconds| an_hour.contains(seconds)));
    let ahead = limited().insert_header("retry-after", "Thu, 01 Jan 2026 13:00:00 GMT").insert_header("date", "Thu, 01 Jan 2026 12:00:00 GMT");
    assert!(resets(ahead).iter().all(|seconds| an_hour.contains(seconds)));
    let span = limited().insert_header("x-ratelimit-remaining-tokens", "0").insert_header("x-ratelimit-reset-tokens", "1h0m0s");
    assert!(resets(span).iter().all(|seconds| an_hour.contains(seconds)));
}

#[test]
fn no_error_has_the_key() {
    let said = format!("invalid key {KEY} or sk-live-123456789, header: Bearer {KEY}");
    for error in each(&status(401, "authentication_error", &said)) {
        assert_eq!(error.kind, Kind::Auth { status: 401 });
        let told = format!("{error} {error:?}");
        assert!(!told.contains(KEY) && !told.contains("123456789") && told.contains("invalid key [key] or [key]"), "{told}");
    }
    let within = json!({ "type": "error", "error": { "type": "authentication_error", "message": said } });
    run(async {
        let server = Server::of((0..3).map(|_| Answer::events(std::slice::from_ref(&within))).collect()).await;
        for provider in all(&server.url) {
            let error = turn(provider.as_ref()).await.1.unwrap_err();
            assert!(error.kind == Kind::Auth { status: 401 } && !format!("{error:?}").contains(KEY), "{error:?}");
        }
    });
    let provider = super::super::anthropic::Anthropic::new(http(), endpoint("http://localhost", Auth::ApiKey));
    assert!(!format!("{provider:?}").contains(KEY));
}

/// The beginning of an answer of each API.
fn begun() -> [Value; 3] {
    [
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 7 } } }),
        json!({ "choices": [{ "delta": { "content": "x" } }], "usage": { "prompt_tokens": 7 } }),
        json!({ "type": "response.output_text.delta", "delta": "x" }),
    ]
}

#[test]
fn an_answer_that_breaks_off() {
    for (number, begun) in begun().into_iter().enumerate() {
        let bytes = sse(&[begun]).into_bytes();
        let in_the_middle = bytes[..bytes.len() - 9].to_vec();
        let garbled = [bytes.clone(), b"data: {\"type\": \n\n".to_vec()].concat();
        run(async {
            let answers = vec![
                Answer::stream(vec![], End::Cut),
                Answer::stream(vec![], End::Whole),
                Answer::stream(vec![bytes.clone()], End::Cut),
                Answer::stream(vec![bytes], End::Whole),
                Answer::stream(vec![in_the_middle], End::Cut),
                Answer::stream(vec![garbled], End::Whole),
            ];
            let count = answers.len();
            let server = Server::of(answers).await;
            for round in 0..count {
                let error = turn(all(&server.url)[number].as_ref()).await.1.unwrap_err();
                assert_eq!((&error.kind, error.outcome()), (&Kind::Truncated, Outcome::Retry { after: None }), "{number} {round}: {error:?}");
                assert_eq!(error.usage.input, if number < 2 && [2, 3, 5].contains(&round) { 7 } else { 0 }, "{number} {round}: what it took is told");
            }
        });
    }
}

#[test]
fn a_server_that_says_nothing() {
    let patient = Duration::from_millis(100);
    let http = Http::new(Timeouts { connect: Duration::from_secs(20), silence: patient }, Proxies::None).unwrap();
    run(async {
        // Nothing at all; and then nothing more.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server::of(vec![Answer::stream(vec![sse(&begun()[..1]).into_bytes()], End::Never)]).await;
        for url in [format!("http://{}", silent.local_addr().unwrap()), server.url.clone()] {
            let began = Instant::now();
            let error = turn(all_with(&http, &url)[0].as_ref()).await.1.unwrap_err();
            assert_eq!(error.kind, Kind::Timeout, "{error:?}");
            assert!(began.elapsed() >= patient);
        }
    });
}

#[test]
fn a_server_that_is_not_there() {
    run(async {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = format!("http://{}", taken.local_addr().unwrap());
        drop(taken);
        for url in [closed.as_str(), "http://nowhere.invalid"] {
            let error = turn(all(url)[0].as_ref()).await.1.unwrap_err();
            assert_eq!(error.kind, Kind::Network, "{error:?}");
            assert!(!error.message.is_empty());
        }
        let error = turn(all("not an address")[0].as_ref()).await.1.unwrap_err();
        assert_eq!(error.outcome(), Outcome::Fail, "{error:?}");
    });
}

#[test]
fn a_cancel_in_the_middle_ends_the_call_and_leaves_the_conversation_as_it_was() {
    let anthropics = [
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "x" } }),
    ];
    for (number, begun) in begun().into_iter().enumerate() {
        run(async {
            let events = sse(&[&[begun], anthropics.as_slice()].concat());
            let server = Server::of(vec![Answer::stream(vec![events.into_bytes()], End::Never)]).await;
            let identity = Identity { name: "alice".into(), role: "coder".into(), team: "my-team".into(), memory: "memory.md".into() };
            let mut conversation = Conversation::begin(identity, "Mend it.", None);
            let before = conversation.clone();
            let (canceller, cancel) = cancel();
            let provider = all(&server.url).into_iter().nth(number).unwrap();
            let request = request(conversation.ready().unwrap(), &[]);
            // As soon as the first word is there.
            let mut sink = |delta: Delta<'_>| {
                assert_eq!(delta, Delta::Text("x"));
                canceller.cancel();
            };
            let error = provider.turn(&request, &mut sink, &cancel).await.unwrap_err();
            assert_eq!(error.outcome(), Outcome::Cancelled);
            assert_eq!(error.usage.input, if number < 2 { 7 } else { 0 }, "what it took is told");
            assert!(cancel.is_cancelled());
            conversation.repair();
            assert_eq!(conversation, before);
            assert!(conversation.ready().is_ok());
        });
    }
}

#[test]
fn the_environment_names_the_proxy() {
    if !alone("provider::tests::failures::the_environment_names_the_proxy") {
        return;
    }
    run(async {
        let proxy = Server::of(vec![Answer::events(&[json!({ "type": "message_stop" })])]).await;
        // SAFETY: this test has its process to itself, and nothing else runs in it yet.
        unsafe {
            std::env::set_var("HTTP_PROXY", &proxy.url);
            std::env::set_var("http_proxy", &proxy.url);
            std::env::remove_var("NO_PROXY");
            std::env::remove_var("no_proxy");
        }
        let through = Http::new(Timeouts::default(), Proxies::OfEnvironment).unwrap();
        turn(all_with(&through, "http://model.invalid")[0].as_ref()).await.1.unwrap();
        assert!(proxy.requests()[0].0.starts_with("post http://model.invalid/v1/messages"), "{:?}", proxy.requests());
        let error = turn(all("http://model.invalid")[0].as_ref()).await.1.unwrap_err();
        assert_eq!(error.kind, Kind::Network, "straight to the server, where that was said");
    });
}

#[test]
fn the_limits_of_an_answer_are_told() {
    run(async {
        let server = MockServer::start().await;
        let events = sse(&[json!({ "type": "message_stop" })]);
        let answer = ResponseTemplate::new(200).set_body_raw(events, "text/event-stream").insert_header("anthropic-ratelimit-requests-remaining", "4");
        Mock::given(any()).respond_with(answer).mount(&server).await;
        let response = turn(all(&server.uri())[0].as_ref()).await.1.unwrap();
        assert_eq!(response.limits, [limits::Window { of: "requests".into(), limit: None, remaining: Some(4), reset: None }]);
    });
}

#[test]
fn half_a_key_is_in_no_error() {
    for error in each(&status(400, "invalid_request_error", &format!("{}{KEY}", "B".repeat(995)))) {
        assert!(!error.message.contains(&KEY[..4]), "{error:?}");
    }
}

#[test]
fn a_server_that_only_says_that_it_is_there_says_nothing() {
    for ping in [": ping\n\n", "event: ping\ndata: {\"type\": \"ping\"}\n\n"] {
        run(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let server = tokio::spawn(async move {
                use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut asked = Vec::new();
                while !asked.ends_with(b"}") {
                    stream.read_buf(&mut asked).await.unwrap();
                }
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                stream.write_all(head.as_bytes()).await.unwrap();
                while stream.write_all(format!("{:x}\r\n{ping}\r\n", ping.len()).as_bytes()).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
            let http = Http::new(Timeouts { connect: Duration::from_secs(20), silence: Duration::from_millis(200) }, Proxies::None).unwrap();
            let [anthropic, ..] = all_with(&http, &url);
            let error = turn(anthropic.as_ref()).await.1.unwrap_err();
            assert_eq!(error.kind, Kind::Timeout, "{error:?}");
            server.abort();
        });
    }
}

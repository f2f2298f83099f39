use super::super::fake::End;
use super::super::retry::{self, Patience};
use super::*;

fn patience(again: usize) -> Patience {
    Patience { again, first: Duration::from_millis(1), longest: Duration::from_millis(2), limit: Duration::from_secs(5) }
}

fn head(head: &str) -> Answer {
    Answer { head: head.into(), chunks: vec![], end: End::Whole }
}

fn good() -> Answer {
    Answer::events(&[json!({ "type": "message_stop" })])
}

/// What comes of these answers, how many of them were asked for, and what failed meanwhile.
fn tried(answers: Vec<Answer>, again: usize) -> (Result<Response, ProviderError>, usize, Vec<Kind>) {
    run(async {
        let server = Server::of(answers).await;
        let messages = vec![Message::user(vec![Block::text("Begin.")])];
        let (_keep, cancel) = cancel();
        let (mut failed, mut restarts) = (Vec::new(), 0);
        let provider = all(&server.url).into_iter().next().unwrap();
        let mut sink = |delta: Delta<'_>| restarts += usize::from(delta == Delta::Restart);
        let request = request(&messages, &[]);
        let answer = retry::turn(provider.as_ref(), &request, &mut sink, &cancel, &patience(again), 1, &mut |error| failed.push(error.kind.clone())).await;
        let asked = server.requests().len();
        assert_eq!(restarts, asked - 1, "each new beginning is told");
        (answer, asked, failed)
    })
}

#[test]
fn what_time_helps_is_tried_again() {
    let broken = Answer::stream(vec![], End::Cut);
    let (answer, asked, failed) = tried(vec![head("529 Overloaded"), broken, head("500 No"), head("429 No\r\nretry-after: 0"), good()], 5);
    assert!(answer.is_ok() && asked == 5, "{answer:?}");
    assert!(
        matches!(failed.as_slice(), [Kind::Overloaded { .. }, Kind::Truncated, Kind::Server { status: 500 }, Kind::RateLimited { .. }]),
        "{failed:?}"
    );

    let (answer, asked, failed) = tried(vec![head("529 No"), head("529 No"), head("529 No"), good()], 2);
    assert_eq!((asked, failed.len()), (3, 3));
    assert_eq!(answer.unwrap_err().kind, Kind::Overloaded { after: None });
}

#[test]
fn what_time_does_not_help_is_not() {
    for answer in ["401 No", "400 No", "413 No", "429 No", "429 No\r\nretry-after: 3600", "402 No", "529 No\r\nretry-after: 3600"] {
        let (answered, asked, failed) = tried(vec![head(answer), good()], 5);
        assert_eq!((answered.is_err(), asked, failed.len()), (true, 1, 1), "{answer}");
    }
}

#[test]
fn a_cancel_ends_the_wait() {
    run(async {
        let server = Server::of(vec![head("503 No\r\nretry-after: 3000"), good()]).await;
        let messages = vec![Message::user(vec![Block::text("Begin.")])];
        let (canceller, cancel) = cancel();
        let patience = Patience { limit: Duration::from_secs(4000), ..patience(5) };
        let provider = all(&server.url).into_iter().next().unwrap();
        let request = request(&messages, &[]);
        let mut sink = |_: Delta<'_>| {};
        let error = retry::turn(provider.as_ref(), &request, &mut sink, &cancel, &patience, 1, &mut |_| canceller.cancel()).await.unwrap_err();
        assert_eq!(error.kind, Kind::Cancelled);
    });
}

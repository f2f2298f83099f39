use super::super::tests::{post, seat};
use super::*;
use board::run::Silent;
use proptest::prelude::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

const LIMITS: Limits = Limits {
    max_talk_turns: 6,
    max_accept_checks: 3,
    max_lost: 5,
    waits: Waits { base: Duration::from_secs(30), cap: Duration::from_secs(1800) },
    longest_wait: Duration::from_secs(14_400),
    longest_run: None,
    most_usd: None,
};

struct Setup {
    limits_of: Vec<(&'static str, Limit)>,
    state: State,
    plan: Stage,
    limits: Limits,
    request: Option<Request>,
    has_scope: bool,
    work: Work,
    ran: Duration,
    now: Timestamp,
}

fn decide_as(posts: &[Post], team: &[&str], change: impl FnOnce(&mut Setup)) -> Step {
    let posts: Vec<Post> = posts.iter().map(|post| Post { ts: post.ts.or(Some(at(i64::try_from(post.seq).unwrap()))), ..post.clone() }).collect();
    let mut setup = Setup {
        limits_of: Vec::new(),
        state: State::default(),
        plan: Stage::Over,
        limits: LIMITS,
        request: None,
        has_scope: true,
        work: Work::default(),
        ran: Duration::ZERO,
        now: at(1000),
    };
    change(&mut setup);
    let Setup { limits_of, ref state, ref plan, ref limits, request, has_scope, work, ran, now } = setup;
    let limit = |name: &str| limits_of.iter().find(|(of, _)| *of == name).map(|(_, limit)| limit.clone());
    let roster: Vec<Seat> = team.iter().map(|name| Seat { limit: limit(name), ..seat(name, limit(name).is_none()) }).collect();
    next(&Known { posts: &posts, last_seq: &scheduler::last_seqs(&posts), roster: &roster, state, plan, limits, request, has_scope, work, ran, now })
}

fn decide(posts: &[Post]) -> Step {
    decide_as(posts, &["alice", "bob"], |_| {})
}

fn ends(step: &Step) -> (RunState, &str) {
    match step {
        Step::End { state, code, .. } => (*state, code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_sleeps_until_a_limit_is_over() {
    let limit = |until: Option<i64>| Limit { until: until.map(at), why: "429".into(), ..Limit::default() };
    let says = [post(1, "alice", Kind::Say, None)];
    let until = |limits_of: &[(&'static str, Option<i64>)], change: &dyn Fn(&mut Setup)| {
        decide_as(&says, &["alice", "bob"], |setup| {
            setup.limits_of = limits_of.iter().map(|(name, until)| (*name, limit(*until))).collect();
            change(setup);
        })
    };
    let sleeps = |state, second: i64| Step::Sleep {
        state,
        until: Some(at(second)),
        why: "429; it goes on by itself (`crew stop`, then `crew start`, tries now)".into(),
    };
    let nothing = |_: &mut Setup| {};
    assert_eq!(until(&[("alice", Some(9000)), ("bob", Some(8000))], &nothing), sleeps(RunState::RateLimited, 8000));
    assert!(matches!(until(&[("alice", Some(9000))], &nothing), Step::Speak { who, .. } if who == "bob"));
    assert_eq!(until(&[("bob", Some(8000))], &nothing), sleeps(RunState::RateLimited, 8000), "alice spoke last");
    let works = |setup: &mut Setup| setup.work.goes_on = true;
    assert!(matches!(until(&[("alice", Some(9000)), ("bob", Some(8000))], &works), Step::Sleep { state: RunState::Running, .. }));
    assert_eq!(ends(&until(&[("alice", None), ("bob", None)], &nothing)), (RunState::Paused, "provider"));
    assert_eq!(until(&[("alice", None), ("bob", Some(8000))], &nothing), sleeps(RunState::RateLimited, 8000));
    // A handoff names one that is at its limit: it is waited for.
    let named =
        decide_as(&[post(1, "alice", Kind::Handoff, Some("bob"))], &["alice", "bob", "carol"], |setup| setup.limits_of = vec![("bob", limit(Some(8000)))]);
    assert_eq!(named, sleeps(RunState::RateLimited, 8000));
    // Without turns in the thread it is about the tasks.
    let tasks = decide_as(&[], &[], |setup| setup.work.limit = Some(limit(Some(8000))));
    assert_eq!(tasks, sleeps(RunState::RateLimited, 8000));
    assert_eq!(ends(&decide_as(&[], &[], |setup| setup.work.limit = Some(limit(None)))), (RunState::Paused, "provider"));
}

#[test]
fn a_done_is_audited_and_the_verdict_holds() {
    let done = post(1, "alice", Kind::Done, None);
    assert_eq!(decide(std::slice::from_ref(&done)), Step::Audit(1));
    let verdict = |decision, seq, re| Post { decision: Some(decision), re: Some(re), ..post(seq, "audit", Kind::Say, None) };
    assert_eq!(ends(&decide(&[done.clone(), verdict(Decision::Approved, 2, 1)])), (RunState::Completed, "accepted"));
    assert!(matches!(decide(&[done.clone(), verdict(Decision::Denied, 2, 1)]), Step::Speak { .. }));
    let again = [
        done.clone(),
        verdict(Decision::Denied, 2, 1),
        post(3, "bob", Kind::Done, None),
        verdict(Decision::Denied, 4, 3),
        post(5, "bob", Kind::Done, None),
        verdict(Decision::Denied, 6, 5),
        post(7, "bob", Kind::Done, None),
    ];
    assert_eq!(ends(&decide(&again)), (RunState::Paused, "audits"));
    assert_eq!(decide_as(&again, &["alice", "bob"], |setup| setup.state.resumed = 7), Step::Audit(7));
    // What the user says is new scope.
    let spoken = [done, verdict(Decision::Approved, 2, 1), post(3, "user", Kind::Say, None)];
    assert!(matches!(decide(&spoken), Step::Speak { .. }));
}

#[test]
fn talk_is_restricted_then_ends_the_run() {
    let says = |count| (1..=count).map(|seq| post(seq, if seq % 2 == 0 { "alice" } else { "bob" }, Kind::Say, None)).collect::<Vec<_>>();
    assert!(matches!(decide(&says(5)), Step::Speak { only_work: None, .. }));
    assert!(matches!(decide(&says(6)), Step::Speak { only_work: Some(OnlyWork { turns: 6, .. }), .. }));
    assert_eq!(ends(&decide(&says(12))), (RunState::Paused, "talk"));
    assert!(matches!(decide_as(&says(12), &["alice", "bob"], |setup| setup.state.resumed = 12), Step::Speak { only_work: None, .. }));
}

#[test]
fn a_wait_sleeps_then_its_author_speaks() {
    let wait = Post { ts: Some(at(990)), ..post(1, "alice", Kind::Wait, None) };
    assert_eq!(
        decide(std::slice::from_ref(&wait)),
        Step::Sleep { state: RunState::Waiting, until: Some(at(1020)), why: "alice waits for something outside".into() }
    );
    assert!(matches!(decide_as(&[wait], &["alice", "bob"], |setup| setup.now = at(1020)), Step::Speak { who, .. } if who == "alice"));
    let long = [Post { ts: Some(at(-20_000)), ..post(1, "alice", Kind::Wait, None) }, Post { ts: Some(at(0)), ..post(2, "alice", Kind::Wait, None) }];
    assert_eq!(ends(&decide(&long)), (RunState::Paused, "wait"));
}

#[test]
fn what_else_ends_it() {
    let team = ["alice", "bob"];
    let ended = |change: &dyn Fn(&mut Setup)| {
        let step = decide_as(&[], &team, change);
        let (state, code) = ends(&step);
        (state, code.to_owned())
    };
    let silent = decide_as(&[], &team, |setup| setup.state.silent = Some(Silent { who: "bob".into(), count: 3, turn: String::new() }));
    assert!(matches!(silent, Step::End { code: "silent_turns", who: Some(who), .. } if who == "bob"));
    let lost = decide_as(&[], &team, |setup| setup.state.lost = Some(Silent { who: "bob".into(), count: 5, turn: String::new() }));
    assert!(matches!(lost, Step::End { code: "lost_turns", who: Some(who), .. } if who == "bob"));
    let minute = Duration::from_secs(60);
    assert_eq!(ended(&|setup| (setup.limits.longest_run, setup.ran) = (Some(minute), minute)), (RunState::Paused, "run_budget".into()));
    assert_eq!(ended(&|setup| (setup.limits.most_usd, setup.state.spent_usd) = (Some(1.0), 1.5)), (RunState::Paused, "spend_budget".into()));
    assert_eq!(ended(&|setup| setup.request = Some(Request::Stop)), (RunState::Stopped, "stop".into()));
    assert_eq!(ended(&|setup| setup.has_scope = false), (RunState::Idle, "nothing_to_do".into()));
    assert_eq!(ends(&decide(&[post(1, "bob", Kind::Gate, None)])), (RunState::Gated, "gate"));
    assert_eq!(ends(&decide(&[post(1, "bob", Kind::Say, Some("user"))])), (RunState::AwaitingUser, "question"));
    let busy = Work { goes_on: true, due: None, limit: None };
    assert!(matches!(decide_as(&[], &[], |setup| setup.work = busy), Step::Sleep { state: RunState::Running, .. }));
    assert_eq!(ends(&decide_as(&[], &[], |_| {})), (RunState::Idle, "nothing_to_do"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No sequence of posts leads to a state from which no command leads on: a gate is decided, a question is
    /// answered, the rest is started again, and then somebody speaks or a `done` is audited.
    #[test]
    fn some_command_always_leads_on(said in proptest::collection::vec((0..6usize, 0..6usize, proptest::option::of(0..7usize)), 0..25)) {
        let names = ["alice", "bob", "carol", "user", "system", "audit"];
        let to = ["alice", "bob", "carol", "dave", "user", "system", "audit"];
        let mut posts: Vec<Post> = said.iter().zip(1..).map(|((from, kind, handoff), seq)| post(seq, names[*from], Kind::ALL[*kind], handoff.map(|to_whom| to[to_whom]))).collect();
        let mut resumed = 0;
        for _ in 0..60 {
            let last = posts.last().map_or(0, |post| post.seq);
            let step = decide_as(&posts, &["alice", "bob", "carol"], |setup| (setup.state.resumed, setup.now) = (resumed, at(1_000_000)));
            let answer = match &step {
                Step::Speak { .. } | Step::Audit(_) => return Ok(()),
                Step::End { state: RunState::Completed, .. } => post(last + 1, "user", Kind::Say, None),
                Step::End { state: RunState::Gated, .. } => {
                    let roster = [seat("alice", true), seat("bob", true), seat("carol", true)];
                    let waits = scheduler::next(Situation { posts: &posts, last_seq: &BTreeMap::new(), roster: &roster }).open;
                    let Some(Asked::Gate(open)) = waits else { panic!("{waits:?}") };
                    Post { re: Some(open), decision: Some(Decision::Denied), ..post(last + 1, "system", Kind::Say, None) }
                }
                Step::End { state: RunState::AwaitingUser, .. } => post(last + 1, "user", Kind::Say, None),
                Step::End { state: RunState::Paused, .. } => { resumed = last; continue }
                other => panic!("{other:?}"),
            };
            posts.push(answer);
        }
        prop_assert!(false, "nothing leads on from {posts:?}");
    }
}

#[test]
fn a_plan_comes_first_and_waits_for_a_person() {
    let due = || Stage::Due { denied: None };
    let plans = |step: Step| match step {
        Step::Speak { who, planning, only_work, .. } => (who, planning, only_work.is_some()),
        other => panic!("{other:?}"),
    };
    assert_eq!(plans(decide_as(&[], &["alice", "bob"], |setup| setup.plan = due())), ("alice".into(), true, false));
    assert_eq!(plans(decide(&[])), ("alice".into(), false, false));
    // To plan is no talk: it is not restricted to work.
    let says: Vec<Post> = (1..=7).map(|seq| post(seq, if seq % 2 == 0 { "alice" } else { "bob" }, Kind::Say, None)).collect();
    assert_eq!(plans(decide_as(&says, &["alice", "bob"], |setup| setup.plan = due())), ("alice".into(), true, false));
    // Whoever was denied plans anew, as long as nobody has spoken since, and can.
    let denied = Stage::Due { denied: Some((7, "bob".into())) };
    assert_eq!(plans(decide_as(&says, &["alice", "bob"], |setup| setup.plan = denied.clone())).0, "bob");
    assert_eq!(plans(decide_as(&says, &["alice", "carol"], |setup| setup.plan = denied.clone())).0, "carol");
    let since = [says, vec![post(8, "alice", Kind::Handoff, Some("carol"))]].concat();
    assert_eq!(plans(decide_as(&since, &["alice", "bob", "carol"], |setup| setup.plan = denied.clone())).0, "carol");
    // What is proposed ends the run; what a person asks of it comes before.
    let proposed = Stage::Proposed(3, "alice".into());
    let done = [post(3, "alice", Kind::Done, None)];
    assert_eq!(ends(&decide_as(&done, &["alice", "bob"], |setup| setup.plan = proposed.clone())), (RunState::Proposed, "proposal"));
    let stopped = decide_as(&done, &["alice", "bob"], |setup| (setup.plan, setup.request) = (proposed.clone(), Some(Request::Stop)));
    assert_eq!(ends(&stopped), (RunState::Stopped, "stop"));
    // Without a turn there is nobody who could plan.
    let alone = decide_as(&[], &[], |setup| setup.plan = due());
    assert_eq!(ends(&alone), (RunState::Idle, "nothing_to_do"));
}

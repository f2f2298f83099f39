//! A turn with one model: calls of it and of tools, until there is a post or nothing more to do.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::clock;
use board::run::Lasts;
use jiff::{SignedDuration, Timestamp};

use super::diary::Diary;
use super::hands::Hands;
use super::journal::Journal;
use super::{Go, Mind, Outcome, Thinker, Turn, With, words};
use crate::conversation::{Block, Conversation, Due, Message, ToolCall};
use crate::models::{Model, Spending, chance};
use crate::provider::retry::{self, Patience};
use crate::provider::{self, Cancel, Kind, ProviderError, Request, Response, Stop};
use crate::tools::crew::Crew;
use crate::tools::{Answer, Effect, Toolbox};

/// So many calls of one answer are run.
const MOST_CALLS: usize = 200;
/// A limit that is over so soon is waited for, even where another model could be called.
const SOON: Duration = Duration::from_secs(5);

/// What is under way.
pub(super) struct Under<'a> {
    pub(super) thinker: &'a Thinker,
    pub(super) turn: &'a Turn<'a>,
    pub(super) model: &'a Model,
    pub(super) diary: &'a Diary,
    cancel: &'a Cancel,
    /// How often the model was called, for summaries too.
    calls: Cell<u32>,
    crew: Rc<dyn Crew>,
    toolbox: Toolbox,
    system: String,
    patience: Patience,
}

/// What comes after the calls of an answer.
enum Then {
    GoOn,
    Compact(Option<String>),
    End(Outcome),
}

impl Thinker {
    /// Performs a turn with one model.
    pub(super) async fn with(&self, go: &Go<'_>, model: &Model, mind: &mut Mind, journal: &mut Journal) -> With {
        let Go { turn, before, has_other, diary, cancel, .. } = *go;
        let Mind { conversation, hands, .. } = mind;
        let hands = match hands_for(self, hands, turn) {
            Ok(hands) => hands,
            Err(e) => return With::Done(Outcome::Failed(format!("the workspace cannot be opened: {e}"))),
        };
        let crew = self.thinking.crews.of_turn(&turn.at);
        let servers = match &self.thinking.servers {
            Some(servers) => servers.tools().await,
            None => Vec::new(),
        };
        let toolbox = hands.toolbox(self, &turn.at, &crew, servers);
        let patience = Patience { limit: if has_other { SOON } else { Patience::default().limit }, ..self.thinking.patience };
        let under = Under {
            thinker: self,
            turn,
            model,
            diary,
            cancel,
            calls: Cell::new(0),
            crew,
            toolbox,
            system: words::system(&self.profile, turn.workspace),
            patience,
        };
        let conversation = match conversation {
            Some(conversation) => {
                conversation.ask(turn.request.as_str(), turn.index.clone());
                conversation
            }
            none => none.insert(Conversation::begin(self.identity(), turn.request.as_str(), turn.index.clone())),
        };
        if let Some(why) = before {
            conversation.tell(&words::begun_anew(why, journal));
        }
        match under.perform(conversation, hands, journal).await {
            Ok(outcome) => With::Done(outcome),
            Err(error) => under.stopped(&error),
        }
    }
}

/// The hands for a turn's workspace: those that are there, or new ones.
fn hands_for<'m>(thinker: &Thinker, all: &'m mut Vec<Hands>, turn: &Turn<'_>) -> std::io::Result<&'m Hands> {
    let workspace = turn.workspace.canonicalize()?;
    let is_it = |hands: &Hands, workspace: &Path| hands.are_for(workspace);
    let place = match all.iter().position(|hands| is_it(hands, &workspace)) {
        Some(place) => {
            if let Some(hands) = all.get(place) {
                hands.begin_turn(Arc::clone(&turn.logs), &turn.at.turn);
            }
            place
        }
        None => {
            all.push(Hands::of(thinker, &workspace, Arc::clone(&turn.logs), &turn.at.turn)?);
            all.len() - 1
        }
    };
    all.get(place).ok_or_else(|| std::io::ErrorKind::NotFound.into())
}

impl Under<'_> {
    async fn perform(&self, conversation: &mut Conversation, hands: &Hands, journal: &mut Journal) -> Result<Outcome, ProviderError> {
        let mut compacted_for_length = false;
        loop {
            if let Some(told) = self.thinker.mail.take(&self.turn.at.turn) {
                conversation.tell(&told);
            }
            hands.take_ended().iter().for_each(|told| conversation.tell(told));
            match conversation.due(self.model.context, self.thinker.thinking.compact_at) {
                Due::Nothing => {}
                Due::Shrink => drop(conversation.shrink_results()),
                Due::Summary => self.compact(conversation, None).await?,
            }
            if self.calls.get() >= self.thinker.profile.max_calls {
                return Ok(Outcome::Silent(format!("it has called its model {} times without a post (maxCalls)", self.calls.get())));
            }
            if let Some(spent) = self.thinker.overspent() {
                return Ok(Outcome::CutShort(spent));
            }
            let messages = match conversation.ready() {
                Ok(messages) => messages,
                Err(e) => return Ok(Outcome::Failed(e.to_string())),
            };
            let response = match self.call(messages).await {
                Err(error) if error.kind == Kind::TooLong && !compacted_for_length => {
                    compacted_for_length = true;
                    self.compact(conversation, None).await?;
                    continue;
                }
                response => response?,
            };
            compacted_for_length = false;
            let Response { blocks, stop, usage, .. } = response;
            let (blocks, left_out) = only_so_many(blocks);
            let said_nothing = blocks.is_empty();
            if let Err(e) = conversation.answered(blocks, usage.context()) {
                return Ok(Outcome::Failed(e.to_string()));
            }
            let open: Vec<ToolCall> = conversation.open_calls().cloned().collect();
            if open.is_empty() {
                match stop {
                    Stop::MaxOutput => conversation.tell(words::CUT_OFF),
                    Stop::Paused => conversation.tell(words::GO_ON),
                    _ if said_nothing => return Ok(Outcome::Silent("its model answered nothing".into())),
                    _ => return Ok(Outcome::Silent("its model stopped without a post".into())),
                }
                continue;
            }
            match self.run(conversation, &open, journal).await {
                Then::GoOn if left_out > 0 => {
                    conversation.tell(&format!("{left_out} more calls of your answer were not run: one answer has at most {MOST_CALLS}."))
                }
                Then::GoOn => {}
                Then::Compact(focus) => self.compact(conversation, focus.as_deref()).await?,
                Then::End(outcome) => return Ok(outcome),
            }
        }
    }

    /// Calls the model, again where that helps.
    pub(super) async fn call(&self, messages: &[Message]) -> Result<Response, ProviderError> {
        let Under { thinker, model, diary, .. } = self;
        let request = Request {
            model: &model.name,
            system: &self.system,
            messages,
            tools: self.toolbox.definitions(),
            effort: model.effort.as_deref(),
            max_output: model.max_output,
        };
        thinker.say(Some(&model.name));
        self.calls.set(self.calls.get() + 1);
        let began = Instant::now();
        let mut failed = |error: &ProviderError| {
            diary.note(&error.to_string());
            thinker.say(Some(&format!("{} again: {error}", model.name)));
            self.spending().failed(&error.usage, began);
            if let Kind::RateLimited { reset: Some(reset) } = error.kind {
                thinker.tell_limit(&model.account, Lasts::Until(reset), &error.to_string());
            }
        };
        let mut sink = |delta: provider::Delta<'_>| diary.delta(delta);
        let answer = retry::turn(&*model.api, &request, &mut sink, self.cancel, &self.patience, chance(&self.turn.at.turn), &mut failed).await;
        if let Ok(response) = &answer {
            self.spending().put_down(&response.usage, began);
            thinker.lift(&model.keys());
        }
        answer
    }

    fn spending(&self) -> Spending<'_> {
        self.thinker.spending(&self.turn.at, self.model.into())
    }

    /// Runs the calls of an answer, and tells their results. A post that is refused ends nothing.
    async fn run(&self, conversation: &mut Conversation, calls: &[ToolCall], journal: &mut Journal) -> Then {
        let mut at = 0;
        while let Some(call) = calls.get(at) {
            if let Some(answer) = journal.take(call) {
                self.tell(conversation, call, &answer, false);
                at += 1;
                continue;
            }
            let rest = calls.get(at..).unwrap_or_default();
            let new = rest.iter().take_while(|call| !journal.has(call)).count();
            let batch = rest.get(..new).unwrap_or_default();
            let mut moved = None;
            let mut answered = 0;
            self.thinker.say(Some(&doing(batch)));
            self.toolbox
                .answer(batch, |place, answer| {
                    answered += 1;
                    let Some(call) = batch.get(place) else { return };
                    match answer {
                        Answer::Effect(effect) => moved = Some((call, effect)),
                        Answer::Result { text, is_error } => {
                            if !is_error && self.toolbox.acts_on_others(&call.name) {
                                journal.add(call, &text);
                            }
                            self.tell(conversation, call, &text, is_error);
                        }
                    }
                })
                .await;
            at += answered;
            match moved {
                None => {}
                Some((call, Effect::Post(post))) => match self.crew.post(post).await {
                    Err(refused) => self.tell(conversation, call, &refused, true),
                    Ok(posted) => {
                        self.tell(conversation, call, &posted, false);
                        self.not_run(conversation, "your turn ended with your post");
                        return Then::End(Outcome::Posted);
                    }
                },
                Some((call, Effect::Idle)) => {
                    self.tell(conversation, call, "Your turn has ended.", false);
                    self.not_run(conversation, "your turn has ended");
                    return Then::End(Outcome::Silent("its model had nothing more to do (idle)".into()));
                }
                Some((call, Effect::Compact(focus))) => {
                    self.tell(conversation, call, "The conversation is compacted.", false);
                    self.not_run(conversation, "the conversation was compacted first");
                    return Then::Compact(focus);
                }
            }
        }
        Then::GoOn
    }

    fn tell(&self, conversation: &mut Conversation, call: &ToolCall, text: &str, is_error: bool) {
        self.diary.call(&call.name, &call.input);
        self.diary.result(&call.name, text, is_error);
        if let Err(e) = conversation.result(&call.id, text, is_error) {
            tracing::error!("{e}");
        }
    }

    fn not_run(&self, conversation: &mut Conversation, why: &str) {
        let open: Vec<ToolCall> = conversation.open_calls().cloned().collect();
        open.iter().for_each(|call| self.tell(conversation, call, &format!("This was not run: {why}."), true));
    }

    /// What an error of its model means for the turn.
    fn stopped(&self, error: &ProviderError) -> With {
        let [account, model] = self.model.keys();
        let why = format!("{:?}: {error}", self.model);
        // What is over at once and was no help, again and again, is not known to be over.
        let until = |reset: Timestamp| if reset <= in_so_long(SOON) { Lasts::Unknown } else { Lasts::Until(reset) };
        let (key, lasts) = match &error.kind {
            Kind::RateLimited { reset } => (account, reset.map_or(Lasts::Unknown, until)),
            Kind::Exhausted | Kind::Auth { .. } => (account, Lasts::UntilMended),
            Kind::Overloaded { after } => (model, after.map_or(Lasts::Unknown, |after| until(in_so_long(after)))),
            Kind::Invalid { status: 404 } => (model, Lasts::UntilMended),
            Kind::Truncated | Kind::Timeout | Kind::Network | Kind::Server { .. } => (account, Lasts::Unknown),
            Kind::TooLong | Kind::Refused | Kind::Invalid { .. } | Kind::OffScript | Kind::Cancelled => return With::Done(Outcome::Failed(why)),
        };
        With::Stopped { key, lasts, why }
    }
}

/// What a batch of calls is called while it runs.
fn doing(calls: &[ToolCall]) -> String {
    match calls {
        [one] if one.name == "bash" => format!("bash {}", one.input["command"].as_str().unwrap_or_default()),
        calls => calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>().join(", "),
    }
}

/// No provider means more than a day by its pause.
fn in_so_long(after: Duration) -> Timestamp {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let now = clock::now();
    SignedDuration::try_from(after.min(DAY)).ok().and_then(|after| now.checked_add(after).ok()).unwrap_or(now)
}

/// An answer with no more calls than are run, and how many were left out.
fn only_so_many(blocks: Vec<Block>) -> (Vec<Block>, usize) {
    let is_call = |block: &Block| matches!(block, Block::ToolCall(_));
    let left_out = blocks.iter().filter(|block| is_call(block)).count().saturating_sub(MOST_CALLS);
    if left_out == 0 {
        return (blocks, 0);
    }
    let mut calls = 0;
    let kept = blocks.into_iter().filter(|block| {
        calls += usize::from(is_call(block));
        !is_call(block) || calls <= MOST_CALLS
    });
    (kept.collect(), left_out)
}

//! What a turn has done that others see, so that it is not done again when the turn begins anew with another model.

use serde_json::Value;

use crate::conversation::ToolCall;

/// The calls of one turn that acted on others, with their answers.
#[derive(Debug, Default)]
pub(super) struct Journal {
    done: Vec<Done>,
}

#[derive(Debug)]
struct Done {
    name: String,
    input: Value,
    answer: String,
    /// It was done before the turn began anew, and no call since has been answered with it.
    to_be_met: bool,
}

impl Journal {
    /// A call was run, and this came of it.
    pub(super) fn add(&mut self, call: &ToolCall, answer: &str) {
        self.done.push(Done { name: call.name.clone(), input: call.input.clone(), answer: answer.to_owned(), to_be_met: false });
    }

    /// The turn begins anew: what was done so far is not to be done again.
    pub(super) fn begin_anew(&mut self) {
        self.done.iter_mut().for_each(|done| done.to_be_met = true);
    }

    /// Whether a call was run before the turn began anew, and is not to be run again.
    pub(super) fn has(&self, call: &ToolCall) -> bool {
        self.done.iter().any(|done| done.is(call))
    }

    /// The answer of a call that was run before; each counts for one call.
    pub(super) fn take(&mut self, call: &ToolCall) -> Option<String> {
        let done = self.done.iter_mut().find(|done| done.is(call))?;
        done.to_be_met = false;
        Some(format!("{}\n[This was done before your turn began anew, and not again.]", done.answer))
    }

    /// What was done so far, a line each; empty: nothing.
    pub(super) fn lines(&self) -> Vec<String> {
        self.done.iter().map(|done| format!("{} {}", done.name, done.input)).collect()
    }
}

impl Done {
    fn is(&self, call: &ToolCall) -> bool {
        self.to_be_met && self.name == call.name && self.input == call.input
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_done_before_is_answered_once_and_not_done_again() {
        let call = |text: &str| ToolCall { id: "1".into(), name: "send_message".into(), input: json!({ "text": text }), malformed: None };
        let mut journal = Journal::default();
        journal.add(&call("a"), "sent");
        assert!(!journal.has(&call("a")), "in the same go it is another message");
        journal.begin_anew();
        assert!(journal.has(&call("a")) && !journal.has(&call("b")));
        assert!(journal.take(&call("a")).unwrap().starts_with("sent"));
        assert!(journal.take(&call("a")).is_none());
        journal.add(&call("b"), "sent");
        journal.begin_anew();
        assert!(journal.has(&call("a")) && journal.has(&call("b")), "once more with a third model");
        assert_eq!(journal.lines().len(), 2);
    }
}

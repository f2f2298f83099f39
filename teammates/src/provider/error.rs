//! What goes wrong with a call of a model, and what is to be done about it.

use std::time::Duration;

use jiff::Timestamp;

use super::Usage;

/// Why a call gave no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{kind}{}{}", if message.is_empty() { "" } else { ": " }, message)]
pub struct ProviderError {
    /// What happened.
    pub kind: Kind,
    /// What the provider said, without any key; empty: nothing.
    pub message: String,
    /// What the call took all the same.
    pub usage: Usage,
    /// The provider's name for the request, for its support.
    pub request_id: Option<String>,
}

/// What happened to a call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Kind {
    /// Too many requests or tokens in a span of time.
    #[error("the provider's rate limit is reached{}", reset.map(|at| format!(" until {at}")).unwrap_or_default())]
    RateLimited {
        /// When there is room again; `None`: that was not said.
        reset: Option<Timestamp>,
    },
    /// The account's credit or quota is used up: time alone does not help.
    #[error("the account's credit is used up")]
    Exhausted,
    /// The provider has more to do than it can.
    #[error("the provider is overloaded")]
    Overloaded {
        /// How long it asks to be left alone.
        after: Option<Duration>,
    },
    /// The conversation does not fit the model's context.
    #[error("the conversation is too long for the model")]
    TooLong,
    /// The model, or a filter before it, would not answer.
    #[error("the model refused")]
    Refused,
    /// The answer broke off, or was no answer in the middle.
    #[error("the answer broke off")]
    Truncated,
    /// Nothing came for too long.
    #[error("the provider did not answer in time")]
    Timeout,
    /// The key is missing, wrong, or not allowed to do this.
    #[error("the provider does not accept the key (HTTP {status})")]
    Auth {
        /// 401 or 403.
        status: u16,
    },
    /// The request is one that the provider does not take; again, it would not either. A wrong model is one of these.
    #[error("the provider did not take the request (HTTP {status})")]
    Invalid {
        /// The HTTP status.
        status: u16,
    },
    /// The provider failed.
    #[error("the provider failed (HTTP {status})")]
    Server {
        /// The HTTP status; 200: the failure came in the middle of the answer.
        status: u16,
    },
    /// It was not reached, or the connection was lost.
    #[error("the provider was not reached")]
    Network,
    /// It is played from a recording, and the recording has no answer to it.
    #[error("the recording has no answer")]
    OffScript,
    /// The call was told to end.
    #[error("cancelled")]
    Cancelled,
}

/// What is to be done about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The same again, not before that long.
    Retry {
        /// What the provider asked for.
        after: Option<Duration>,
    },
    /// Another provider, or to wait.
    Limit {
        /// When there is room again; `None`: that is not known.
        reset: Option<Timestamp>,
    },
    /// To make the conversation shorter, once, and then the same again.
    Compact,
    /// Nothing: the turn fails with this message.
    Fail,
    /// Nothing: it was wanted.
    Cancelled,
}

impl ProviderError {
    /// An error before anything was counted.
    pub fn new(kind: Kind, message: impl Into<String>) -> ProviderError {
        ProviderError { kind, message: message.into(), usage: Usage::default(), request_id: None }
    }

    /// What is to be done.
    pub fn outcome(&self) -> Outcome {
        match &self.kind {
            Kind::RateLimited { reset } => Outcome::Limit { reset: *reset },
            Kind::Exhausted => Outcome::Limit { reset: None },
            Kind::Overloaded { after } => Outcome::Retry { after: *after },
            Kind::Truncated | Kind::Timeout | Kind::Server { .. } | Kind::Network => Outcome::Retry { after: None },
            Kind::TooLong => Outcome::Compact,
            Kind::Refused | Kind::Auth { .. } | Kind::Invalid { .. } | Kind::OffScript => Outcome::Fail,
            Kind::Cancelled => Outcome::Cancelled,
        }
    }
}

/// What a provider's error amounts to. `status`: of HTTP, 200 where the error came within the answer; `codes`: what the
/// provider calls it (its `type` and `code`); `reset` and `after`: what its headers say.
pub(super) fn classify(status: u16, codes: &[&str], message: &str, reset: Option<Timestamp>, after: Option<Duration>) -> Kind {
    let is = |names: &[&str]| codes.iter().any(|code| names.contains(code));
    let message = message.to_lowercase();
    let says = |parts: &[&str]| parts.iter().all(|part| message.contains(part));
    let may_be_too_long = matches!(status, 200 | 400 | 413 | 422);
    let is_too_long = is(&["context_length_exceeded", "exceed_context_size_error", "request_too_large"])
        || says(&["prompt is too long"])
        || says(&["maximum context length"])
        || says(&["exceed", "context"])
        || says(&["input is too long"]);
    // Credit comes before 429, which one provider answers for it too.
    match status {
        _ if is(&["billing_error", "insufficient_quota"]) || says(&["credit balance is too low"]) => Kind::Exhausted,
        402 => Kind::Exhausted,
        _ if reset.is_none() && is(&["contract_spend_limit_reached", "enforced_spend_limit_reached"]) => Kind::Exhausted,
        413 => Kind::TooLong,
        _ if may_be_too_long && is_too_long => Kind::TooLong,
        _ if is(&["content_filter", "content_policy_violation", "invalid_prompt", "bio_policy", "misalignment_policy_violation"]) => Kind::Refused,
        401 | 403 => Kind::Auth { status },
        429 => Kind::RateLimited { reset },
        503 | 529 => Kind::Overloaded { after },
        408 | 504 => Kind::Timeout,
        500.. => Kind::Server { status },
        200 if is(&["rate_limit_error", "rate_limit_exceeded"]) => Kind::RateLimited { reset },
        200 if is(&["overloaded_error", "server_overloaded", "slow_down"]) => Kind::Overloaded { after },
        200 if is(&["timeout_error"]) => Kind::Timeout,
        200 if is(&["authentication_error", "permission_error", "invalid_api_key"]) => Kind::Auth { status: 401 },
        200 if is(&["invalid_request_error", "not_found_error", "model_not_found"]) => Kind::Invalid { status: 400 },
        200 => Kind::Server { status },
        _ => Kind::Invalid { status },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_has_its_outcome() {
        let reset = Some("2026-01-02T03:04:05Z".parse::<Timestamp>().unwrap());
        let after = Some(Duration::from_secs(7));
        let (limit, again, fail) = (Outcome::Limit { reset }, Outcome::Retry { after: None }, Outcome::Fail);
        let cases: [(u16, &[&str], &str, Outcome); 33] = [
            (400, &["invalid_request_error"], "prompt is too long: 210000 tokens > 200000 maximum", Outcome::Compact),
            (400, &["invalid_request_error", "context_length_exceeded"], "", Outcome::Compact),
            (400, &["exceed_context_size_error"], "", Outcome::Compact),
            (400, &[], "This model's maximum context length is 8192 tokens", Outcome::Compact),
            (400, &[], "input length and `max_tokens` exceed context limit: 1 + 2 > 2", Outcome::Compact),
            (413, &["request_too_large"], "", Outcome::Compact),
            (400, &["invalid_request_error"], "max_tokens: too large", fail),
            (400, &["content_filter"], "", fail),
            (400, &["invalid_request_error"], "Your credit balance is too low to access the API", Outcome::Limit { reset: None }),
            (401, &["authentication_error"], "", fail),
            (402, &["billing_error"], "", Outcome::Limit { reset: None }),
            (403, &["permission_error"], "", fail),
            (404, &["not_found_error"], "model: nonesuch", fail),
            (408, &[], "", again),
            (409, &[], "", fail),
            (429, &["rate_limit_error"], "This would exceed the limit of 10 tokens of context a minute", limit),
            (429, &["insufficient_quota"], "", Outcome::Limit { reset: None }),
            (429, &["enforced_spend_limit_reached", "rate_limit_error"], "", limit),
            (402, &["linked_organization_spend_limit_reached"], "", Outcome::Limit { reset: None }),
            (200, &["bio_policy"], "", fail),
            (500, &["api_error"], "", again),
            (502, &[], "Bad Gateway", again),
            (503, &[], "", Outcome::Retry { after }),
            (504, &["timeout_error"], "", again),
            (529, &["overloaded_error"], "", Outcome::Retry { after }),
            (301, &[], "", fail),
            (200, &["overloaded_error"], "Overloaded", Outcome::Retry { after }),
            (200, &["rate_limit_error"], "", limit),
            (200, &["authentication_error"], "", fail),
            (200, &["invalid_request_error"], "", fail),
            (200, &["context_length_exceeded"], "", Outcome::Compact),
            (200, &["api_error"], "", again),
            (200, &[], "", again),
        ];
        for (status, codes, message, outcome) in cases {
            let error = ProviderError::new(classify(status, codes, message, reset, after), message);
            assert_eq!(error.outcome(), outcome, "{status} {codes:?} {message}: {error:?}");
        }
        assert_eq!(classify(429, &["contract_spend_limit_reached"], "", None, after), Kind::Exhausted);
        let outcome = |kind| ProviderError::new(kind, "").outcome();
        assert_eq!([Kind::Truncated, Kind::Network].map(outcome), [again, again]);
        assert_eq!(outcome(Kind::Cancelled), Outcome::Cancelled);
    }

    #[test]
    fn messages_say_what_happened() {
        let reset = Some("2026-01-02T03:04:05Z".parse().unwrap());
        let error = ProviderError::new(Kind::RateLimited { reset }, "slow down");
        assert_eq!(error.to_string(), "the provider's rate limit is reached until 2026-01-02T03:04:05Z: slow down");
        assert_eq!(ProviderError::new(Kind::Timeout, "").to_string(), "the provider did not answer in time");
    }
}

//! The same call again, where that helps: after an overload, a lost connection, an answer that broke off, or a limit that
//! is over soon.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use board::clock;

use super::{Cancel, Delta, Kind, Outcome, Provider, ProviderError, Request, Response};

/// How often a call is made again, and how long is waited for that.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// So often again; 0: never.
    pub again: usize,
    /// Before the second call; each further wait is twice as long, with up to as much again by chance.
    pub first: Duration,
    /// The longest of these waits.
    pub longest: Duration,
    /// A limit that is over within this is waited for; a later one is the caller's to deal with. So is what a provider
    /// asks for that is overloaded.
    pub limit: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        let seconds = Duration::from_secs;
        Patience { again: 5, first: seconds(1), longest: seconds(30), limit: seconds(60) }
    }
}

/// Makes a call, and again as long as that helps. Each call that failed is told to `failed`, also for what it took; the last
/// one is returned besides. `seed`: where the chance comes from.
pub async fn turn(
    provider: &dyn Provider,
    request: &Request<'_>,
    sink: &mut dyn FnMut(Delta<'_>),
    cancel: &Cancel,
    patience: &Patience,
    seed: u64,
    failed: &mut dyn FnMut(&ProviderError),
) -> Result<Response, ProviderError> {
    let backoff = ExponentialBuilder::new().with_min_delay(patience.first).with_max_delay(patience.longest).with_max_times(patience.again);
    let mut waits = backoff.with_jitter().with_jitter_seed(seed).build();
    loop {
        let error = match provider.turn(request, sink, cancel).await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        failed(&error);
        let asked = match error.outcome() {
            Outcome::Retry { after } => after.unwrap_or_default(),
            // Without a moment to wait for, another provider is the better answer.
            Outcome::Limit { reset: Some(reset) } => Duration::try_from(reset.duration_since(clock::now())).unwrap_or_default(),
            Outcome::Limit { reset: None } | Outcome::Compact | Outcome::Fail | Outcome::Cancelled => return Err(error),
        };
        let Some(wait) = waits.next().filter(|_| asked <= patience.limit) else { return Err(error) };
        tokio::select! {
            // Others wait for the same moment: chance keeps them from coming all at once.
            () = tokio::time::sleep(asked.saturating_add(wait)) => sink(Delta::Restart),
            () = cancel.cancelled() => return Err(ProviderError::new(Kind::Cancelled, "")),
        }
    }
}

//! Named points at which a test ends the process as `kill -9` would. Nothing of it is in release builds.

/// Ends the process here when `CREW_CRASH_AT` names this point (`name`, or `name:N` for its N-th passing).
#[inline]
pub fn point(_name: &'static str) {
    #[cfg(feature = "simulate")]
    crate::disk::trace::note(|| crate::disk::trace::Op::Passed(_name));
    #[cfg(debug_assertions)]
    armed::point(_name);
}

/// The points that this crate passes, in the order in which a claim and its end pass them.
pub const POINTS: [&str; 9] =
    ["claim.locked", "claim.presence", "replace.written", "replace.exchanged", "commit.journal", "end.written", "end.exchanged", "add.written", "add.renamed"];

/// The points that a restored checkpoint passes, in their order.
pub const RESTORE_POINTS: [&str; 5] = ["checkpoint.ref", "restore.intent", "restore.removing", "restore.putting", "restore.written"];

/// The points that opening and merging a task's working tree passes, in their order.
pub const WORKTREE_POINTS: [&str; 4] = ["worktree.added", "merge.committed", "merge.files", "worktree.clearing"];

#[cfg(debug_assertions)]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Armed {
        name: String,
        passings: AtomicU64,
    }

    pub(super) fn point(name: &str) {
        static ARMED: OnceLock<Option<Armed>> = OnceLock::new();
        let armed = ARMED.get_or_init(|| {
            let text = std::env::var("CREW_CRASH_AT").ok()?;
            let (name, count) = text.rsplit_once(':').unwrap_or((&text, "1"));
            Some(Armed { name: name.to_owned(), passings: AtomicU64::new(count.parse().unwrap_or(1)) })
        });
        if let Some(armed) = armed
            && armed.name == name
            && armed.passings.fetch_sub(1, Ordering::SeqCst) == 1
        {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            std::process::abort();
        }
    }
}

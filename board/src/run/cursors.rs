//! What each teammate has seen of the thread, and when it last spoke.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `cursors.json`: by teammate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursors {
    /// Each one's place.
    #[serde(default)]
    pub teammates: BTreeMap<String, Cursor>,
}

/// A teammate's place in the thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The last post that was shown to it by a turn which ended with a post.
    #[serde(default)]
    pub seen: u64,
    /// Its own last post that held no task; 0: none.
    #[serde(default)]
    pub spoke: u64,
}

//! Whether `work_done` is credited: the tree says so, not its author.

use board::tree::State;

/// What is said of a `work_done`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credit {
    /// The work is there.
    Given,
    /// It is not, and why.
    Refused(&'static str),
}

/// Judges a turn by the trees at its beginning and now. Credit is given for a new commit whose tree differs from the old
/// HEAD's, or else for a working tree that differs from the turn's start.
///
/// `shared`: others worked in the same tree meanwhile, so that nothing tells whose the change is.
pub(crate) fn of_turn(base: Option<&State>, now: Option<&State>, shared: bool) -> Credit {
    let (Some(base), Some(now)) = (base, now) else {
        return Credit::Refused("there is no git repository here, and so nothing that shows the work");
    };
    let committed = base.head != now.head && base.head_tree != now.head_tree;
    let changed = base.tree != now.tree;
    match (committed || changed, shared) {
        (false, _) => Credit::Refused("the tree is as it was when the turn began"),
        (true, true) => {
            Credit::Refused("a task was worked on in the same tree meanwhile, and nothing tells whose the change is; `worktree: true` keeps them apart")
        }
        (true, false) => Credit::Given,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(head: &str, head_tree: &str, tree: &str) -> State {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        State { head: some(head), head_tree: some(head_tree), tree: tree.into() }
    }

    #[test]
    fn the_tree_decides() {
        let base = state("c1", "t1", "t1");
        for (now, given) in [
            (state("c1", "t1", "t1"), false),
            (state("c2", "t1", "t1"), false), // an empty commit
            (state("c1", "t1", "t2"), true),
            (state("c2", "t2", "t2"), true),
        ] {
            assert_eq!(of_turn(Some(&base), Some(&now), false) == Credit::Given, given, "{now:?}");
            assert_ne!(of_turn(Some(&base), Some(&now), true), Credit::Given);
        }
        // What was dirty before is committed: the working tree is the same, the new commit's tree is not the old one's.
        assert_eq!(of_turn(Some(&state("c1", "t1", "t2")), Some(&state("c2", "t2", "t2")), false), Credit::Given);
        // The first commit of a repository.
        assert_eq!(of_turn(Some(&state("", "", "t1")), Some(&state("c1", "t1", "t1")), false), Credit::Given);
        assert_ne!(of_turn(None, None, false), Credit::Given);
    }
}

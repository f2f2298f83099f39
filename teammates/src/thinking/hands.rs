//! What a line of thought works with in one workspace: its files, its shell, and where what commands print goes.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use board::disk::Dir;

use super::Thinker;
use crate::tools::crew::{self, At, Crew, desk::Desk};
use crate::tools::outputs::Outputs;
use crate::tools::work::{self, Shell, Terms, Workspace};
use crate::tools::{Tool, Toolbox};

/// Hands, for one workspace.
pub(super) struct Hands {
    workspace: Arc<Workspace>,
    outputs: Arc<Outputs>,
    shell: Option<Rc<Shell>>,
}

impl Hands {
    /// Those for a workspace and a turn that begins in it.
    pub(super) fn of(thinker: &Thinker, workspace: &Path, logs: Arc<Dir>, turn: &str) -> std::io::Result<Hands> {
        let (outputs, open) = (Arc::new(Outputs::new(logs, turn)), Arc::new(Workspace::open(workspace)?));
        let (place, name) = (thinker.workplace.place(), thinker.seat.name());
        let repository = place.project().join(".git");
        let is_own = open.path() != place.project();
        let terms = Terms {
            workspace: Arc::clone(&open),
            outputs: Arc::clone(&outputs),
            children: thinker.workplace.children().clone(),
            groups: thinker.seat.groups().try_clone().ok(),
            env: vec![("CREW_BOARD".into(), place.tasks().into()), ("CREW_AS".into(), name.as_str().into())],
            gatekeeper: Rc::clone(&thinker.thinking.gatekeeper),
            writes: thinker.profile.writes,
            temps: vec![std::env::temp_dir()],
            // The commits of a working tree lie in the repository.
            also: if is_own { vec![repository] } else { Vec::new() },
            spared: vec![place.project().to_path_buf(), place.state().to_path_buf()],
            hidden: thinker.thinking.hidden.clone(),
            state: place.state().to_path_buf(),
            project: place.project().to_path_buf(),
            background_turn: work::background_turn(place, name),
        };
        let shell = Shell::new(terms)?.map(Rc::new);
        thinker.backgrounds.borrow_mut().extend(shell.iter().map(|shell| Rc::clone(shell.backgrounds())));
        Ok(Hands { workspace: open, outputs, shell })
    }

    /// Whether they are those for a workspace.
    pub(super) fn are_for(&self, workspace: &Path) -> bool {
        self.workspace.path() == workspace
    }

    /// Begins another turn with them.
    pub(super) fn begin_turn(&self, logs: Arc<Dir>, turn: &str) {
        self.outputs.begin_turn(logs, turn);
    }

    /// The tools of a turn.
    pub(super) fn toolbox(&self, thinker: &Thinker, at: &At, crew: &Rc<dyn Crew>, servers: Vec<Tool>) -> Toolbox {
        let desk = Rc::new(Desk::of(thinker.workplace.clone(), at.name.clone()));
        let mut all = work::tools(&self.workspace, &self.outputs, self.shell.clone());
        all.extend(crew::tools(&desk, crew, thinker.profile.may_run));
        all.extend(servers);
        Toolbox::of(&thinker.profile, all, Some(Arc::clone(&self.outputs)))
    }

    /// What its model is to be told of commands in the background that have ended.
    pub(super) fn take_ended(&self) -> Vec<String> {
        self.shell.iter().flat_map(|shell| shell.backgrounds().take_ended()).collect()
    }
}

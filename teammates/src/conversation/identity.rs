//! Who a model is told that it is, at the beginning of every conversation.

use std::path::PathBuf;

/// Who the model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The teammate's name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// How the team is called.
    pub team: String,
    /// Where the team's memory is.
    pub memory: PathBuf,
}

impl Identity {
    /// How a conversation begins.
    pub fn text(&self) -> String {
        let [name, role, team] = [&self.name, &self.role, &self.team].map(|word| plain(word));
        format!(
            "<identity>You are '{name}', role: {role}, team: {team}. Continue your work.</identity>\n\n\
             The team's memory is {}. Read it first; write into it what a later turn would pay to learn again: decisions and why, constraints, dead ends.",
            plain(&self.memory.display().to_string())
        )
    }
}

/// Without what could end the block, or the line.
fn plain(word: &str) -> String {
    word.chars().map(|letter| if matches!(letter, '<' | '>') || letter.is_control() { ' ' } else { letter }).collect()
}

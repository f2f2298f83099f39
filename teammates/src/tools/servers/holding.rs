//! What a notice keeps from the team.

use board::run::Ask;

/// The notice that keeps a capability from the team.
pub(super) fn holder<'a>(asks: &'a [Ask], capability: &str) -> Option<&'a Ask> {
    asks.iter().find(|ask| ask.is_holding() && ask.holds.as_deref() == Some(capability))
}

/// What a call is answered with meanwhile.
pub(super) fn refusal(ask: &Ask, capability: &str) -> String {
    let until = match ask.pinned {
        true => format!("Only a person lets go of it, with `crew notice {} --release`.", ask.id),
        false => format!("A person lets go of it, with an answer to that notice or with `crew notice {} --release`.", ask.id),
    };
    format!(
        "This was not run: the {capability} is held by notice {} of {}, for the user to look at: {:?}. {until} Do something else until then, or end your turn.",
        ask.id, ask.from, ask.text
    )
}

//! The machine stays awake while a run is active: a wait would else sleep with it.

use keepawake::KeepAwake;

/// Keeps it awake until this is dropped.
#[derive(Default)]
pub(super) struct Awake {
    _held: Option<KeepAwake>,
}

impl Awake {
    /// Asks the system. Where there is nobody to ask, or the answer is no, that is said once, and the run goes on.
    pub(super) fn begin() -> Awake {
        let ask = |sleep: bool| keepawake::Builder::default().idle(true).sleep(sleep).reason("a run of a crew is active").app_name("crew").create();
        // Not everybody may keep it from sleeping when somebody wants it to; from falling asleep by itself, more may.
        match ask(true).or_else(|_| ask(false)) {
            Ok(held) => Awake { _held: Some(held) },
            Err(e) => {
                tracing::warn!("the machine may fall asleep while the run is active: {e}");
                Awake::default()
            }
        }
    }
}

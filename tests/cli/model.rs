//! Teammates that think: their model is a server of the test's own, which speaks as Anthropic's API does and answers what
//! the test tells it to, for each teammate by its name.

mod alone;
mod injected;
mod limits;
mod lost;
mod played;
pub(crate) mod server;
mod servers;
mod together;

//! Teammates whose turns a coding CLI takes. The CLI is a stand-in that prints what the real ones do, and has the team's
//! tools by the real `crew mcp`.

mod failing;
mod office;
mod played;
mod working;

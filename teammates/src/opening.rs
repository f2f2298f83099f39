//! stub
pub struct Opening;
impl Opening {
    pub fn text(&self) -> String {
        "turn\n".into()
    }
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({})
    }
}

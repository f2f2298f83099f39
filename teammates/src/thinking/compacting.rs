//! A conversation that is too long: saved as it is, then replaced by a summary that its model writes.

use board::disk::Dir;

use super::turn::Under;
use crate::conversation::{Block, Conversation, transcript};
use crate::provider::{Kind, ProviderError};

/// So often only the end of a conversation is summarised whose whole is too long, each time half as much.
const MOST_HALVINGS: u32 = 6;

impl Under<'_> {
    /// Compacts it. `focus`: what its model wants to keep in mind above all. An error is one of the model's provider; the
    /// conversation is as it was then.
    pub(super) async fn compact(&self, conversation: &mut Conversation, focus: Option<&str>) -> Result<(), ProviderError> {
        self.thinker.say(Some("compacts its conversation"));
        if let Some(focus) = focus {
            conversation.tell(&format!("In your summary, keep above all: {focus}"));
        }
        let summary = self.summary(conversation).await?;
        match self.save(conversation) {
            Ok(path) => self.diary.note(&format!("the conversation is compacted; what it was is in {path}")),
            // Without room for it, the work goes on: the log of the turn tells what was done.
            Err(e) => self.diary.note(&format!("the conversation is compacted; what it was could not be saved: {e}")),
        }
        conversation.compact(&summary);
        Ok(())
    }

    async fn summary(&self, conversation: &Conversation) -> Result<String, ProviderError> {
        let mut halvings = 0;
        loop {
            // Nothing is open here: its calls have all been answered.
            let Ok(messages) = conversation.summary_request(halvings) else { return Ok(String::new()) };
            match self.call(&messages).await {
                Err(error) if error.kind == Kind::TooLong && halvings < MOST_HALVINGS => halvings += 1,
                Err(error) if error.kind == Kind::TooLong => return Ok(String::new()),
                answer => {
                    let texts = answer?.blocks.into_iter().filter_map(|block| if let Block::Text(text) = block { Some(text.text) } else { None });
                    return Ok(texts.collect::<Vec<_>>().join("\n"));
                }
            }
        }
    }

    fn save(&self, conversation: &Conversation) -> Result<String, transcript::TranscriptError> {
        let dir = Dir::make(&self.thinker.workplace.place().state().join("transcripts"), 0o700)?;
        let stem = format!("{}-{}", self.turn.at.name, self.turn.at.turn);
        Ok(transcript::save(&dir, &stem, conversation.messages())?.display().to_string())
    }
}

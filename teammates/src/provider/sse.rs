//! Server-sent events: bytes in, wherever they are cut; events out. Tolerant of line ends, comments and unknown fields.

/// An event with data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Its lines, joined.
    pub(super) data: String,
}

/// More than any event has, in bytes: a server that sends no line end must not fill the memory.
const LONGEST: usize = 32 << 20;

/// An event, or a line, is longer than any is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {} MiB", LONGEST >> 20)]
pub(super) struct TooLong;

/// What was read and is no event yet.
#[derive(Debug, Default)]
pub(super) struct Sse {
    bytes: Vec<u8>,
    /// So many of the bytes were looked through for a line end.
    looked: usize,
    data: Option<String>,
    begun: bool,
}

impl Sse {
    /// Takes bytes as they came.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next event that is there whole.
    pub(super) fn next(&mut self) -> Result<Option<Event>, TooLong> {
        let mut taken = 0;
        let mut event = None;
        while event.is_none() {
            let unread = &self.bytes[taken..];
            let Some(end) = unread.iter().skip(self.looked).position(|byte| matches!(byte, b'\n' | b'\r')).map(|at| at + self.looked) else {
                self.looked = unread.len();
                break;
            };
            let length = match (unread[end], unread.get(end + 1)) {
                (b'\r', Some(b'\n')) => 2,
                // The other half of the line end may still come.
                (b'\r', None) => {
                    self.looked = end;
                    break;
                }
                _ => 1,
            };
            self.looked = 0;
            let line = String::from_utf8_lossy(&unread[..end]).into_owned();
            taken += end + length;
            event = self.line(&line);
        }
        self.bytes.drain(..taken);
        if self.bytes.len() + self.data.as_ref().map_or(0, String::len) > LONGEST {
            return Err(TooLong);
        }
        Ok(event)
    }

    /// The last event, where the server ended without the blank line behind it, or without a line end.
    pub(super) fn finish(&mut self) -> Option<Event> {
        let rest = std::mem::take(&mut self.bytes);
        self.looked = 0;
        let rest = String::from_utf8_lossy(&rest);
        let line = rest.trim_end_matches(['\r', '\n']);
        if !line.is_empty() {
            self.line(line);
        }
        self.data.take().map(|data| Event { data })
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        let line = if self.begun { line } else { line.strip_prefix('\u{feff}').unwrap_or(line) };
        self.begun = true;
        if line.is_empty() {
            return self.data.take().map(|data| Event { data });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(chunks: &[&[u8]]) -> Vec<String> {
        let (mut sse, mut events) = (Sse::default(), Vec::new());
        for chunk in chunks {
            sse.feed(chunk);
            while let Some(event) = sse.next().unwrap() {
                events.push(event.data);
            }
        }
        events.extend(sse.finish().map(|event| event.data));
        events
    }

    #[test]
    fn what_servers_send() {
        let cases: [(&str, &[&str]); 9] = [
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("\u{feff}data:a\r\n\r\nevent: x\rdata:  b\r\r", &["a", " b"]),
            (": ping\n\nid: 1\nretry: 5\ndata\n\n", &[""]),
            ("data: {\"a\":\ndata: 1}\n\n", &["{\"a\":\n1}"]),
            ("event: only\n\nunknown: x\n\n", &[]),
            ("data: [DONE]", &["[DONE]"]),
            ("data: [DONE]\r\n", &["[DONE]"]),
            ("data: é\u{2028}\n\n", &["é\u{2028}"]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(read(&[text.as_bytes()]), expected, "{text:?}");
        }
        assert_eq!(read(&[b"data: \xff\n\n"]), ["\u{fffd}"]);
    }

    #[test]
    fn a_line_without_end_is_an_error() {
        let mut sse = Sse::default();
        sse.feed(&vec![b'x'; LONGEST + 1]);
        assert_eq!(sse.next(), Err(TooLong));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_does_not_matter_where_the_bytes_are_cut(text in "(data: |data:|event|:|\r\n|\n|\r|é|x|\u{feff}){0,30}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&chunks), read(&[bytes]));
        }
    }
}

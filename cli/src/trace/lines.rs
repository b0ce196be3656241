//! Lines of a file of any size: counted, and bounded in length so that memory stays constant.

use std::io::{self, BufRead, Read};

use super::Problem;

/// The longest line, and the longest CSV record, that is read. A longer one is an error, not a growing buffer.
pub(crate) const LONGEST: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One line at a time of an input.
pub(crate) struct Lines {
    input: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
    held: bool,
}

impl Lines {
    pub(crate) fn new(input: Box<dyn BufRead>) -> Self {
        Self { input, line: Vec::new(), number: 0, bytes: 0, held: false }
    }

    /// Moves to the next line; `false` at the end of the input.
    pub(crate) fn advance(&mut self) -> Result<bool, Problem> {
        if std::mem::take(&mut self.held) {
            return Ok(true);
        }
        self.line.clear();
        let limit = LONGEST as u64 + 1;
        let got =
            (&mut self.input).take(limit).read_until(b'\n', &mut self.line).map_err(|e| self.failed(&e))?;
        self.bytes += got as u64;
        if got == 0 {
            return Ok(false);
        }
        self.number += 1;
        if got > LONGEST && self.line.last() != Some(&b'\n') {
            self.pass_over_line().map_err(|e| self.failed(&e))?;
            return Err(Problem::at(self.number, "longer than 1 MiB: is this a text file?"));
        }
        self.tidy();
        Ok(true)
    }

    /// Moves to the next line that has more than white space.
    pub(crate) fn advance_to_text(&mut self) -> Result<bool, Problem> {
        while self.advance()? {
            if !self.text().trim_ascii().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets the next `advance` give this line again.
    pub(crate) fn hold(&mut self) {
        self.held = true;
    }

    /// The line without its line end.
    pub(crate) fn text(&self) -> &[u8] {
        self.line.strip_suffix(b"\n").unwrap_or(&self.line)
    }

    /// The line and a line feed, whatever line end it had.
    pub(crate) fn text_and_feed(&self) -> &[u8] {
        &self.line
    }

    /// The number of the line, from 1; 0 before the first.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Every line ends in one line feed afterwards; a mark before the first is dropped.
    fn tidy(&mut self) {
        if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
        }
        if self.line.ends_with(b"\n") {
            self.line.pop();
        }
        if self.line.ends_with(b"\r") {
            self.line.pop();
        }
        self.line.push(b'\n');
    }

    /// Reads on to the line's end and keeps nothing of it.
    fn pass_over_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let (used, done) = match buffer.iter().position(|&b| b == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.input.consume(used);
            self.bytes += used as u64;
            if done {
                return Ok(());
            }
        }
    }

    fn failed(&self, error: &io::Error) -> Problem {
        Problem::end(self.number + 1, format!("cannot read on: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: impl Into<Vec<u8>>) -> Lines {
        Lines::new(Box::new(io::Cursor::new(text.into())))
    }

    #[test]
    fn every_line_end_is_the_same() {
        let mut lines = lines("\u{feff}one\r\ntwo\n\n last");
        for (number, want) in [(1, "one"), (2, "two"), (3, ""), (4, " last")] {
            assert!(lines.advance().unwrap());
            assert_eq!((lines.number(), lines.text()), (number, want.as_bytes()));
        }
        assert!(!lines.advance().unwrap());
        assert_eq!(lines.bytes(), 18);
    }

    #[test]
    fn a_held_line_comes_again() {
        let mut lines = lines("\n \none\ntwo\n");
        assert!(lines.advance_to_text().unwrap());
        lines.hold();
        assert!(lines.advance().unwrap());
        assert_eq!((lines.number(), lines.text()), (3, &b"one"[..]));
        assert!(lines.advance().unwrap());
        assert_eq!(lines.text(), b"two");
    }

    #[test]
    fn an_endless_line_is_passed_over_in_constant_memory() {
        let mut text = vec![b'x'; 5 * LONGEST];
        text.extend_from_slice(b"\nnext\n");
        let mut lines = lines(text);
        let problem = lines.advance().unwrap_err();
        assert_eq!(problem.line, 1);
        assert!(lines.line.capacity() <= 4 * LONGEST);
        assert!(lines.advance().unwrap());
        assert_eq!((lines.number(), lines.text()), (2, &b"next"[..]));
    }

    #[test]
    fn the_longest_line_is_still_read() {
        let mut text = vec![b'x'; LONGEST];
        text.push(b'\n');
        let mut lines = lines(text);
        assert!(lines.advance().unwrap());
        assert_eq!(lines.text().len(), LONGEST);
    }
}

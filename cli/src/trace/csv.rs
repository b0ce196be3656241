//! Comma-separated values under a header line (RFC 4180), by csv-core.
//!
//! csv-core is fed line by line: so the number of every line is known, and a quote that is never closed cannot fill
//! the memory.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::lines::LONGEST;
use super::time::Stamps;
use super::{CostRule, Latency, Lines, Problem, Record, Records, Wanted, columns, shown, stamp};

pub(super) struct Csv {
    row: Row,
    wanted: Wanted,
    header: Option<Header>,
}

/// Where the wanted columns are.
struct Header {
    width: usize,
    time: usize,
    time_name: String,
    stamps: Stamps,
    costs: Vec<usize>,
    key: Option<usize>,
    latency: Option<(usize, Latency)>,
}

impl Csv {
    pub(super) fn new(wanted: Wanted) -> Self {
        Self { row: Row::new(), wanted, header: None }
    }
}

impl Header {
    fn read(row: &mut Row, lines: &mut Lines, wanted: &Wanted) -> Result<Option<Self>, Problem> {
        let Some(line) = row.read(lines)? else { return Ok(None) };
        let names: Vec<_> = (0..row.width()).map(|index| shown(row.field(index))).collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        Self::find(&names, wanted).map(Some).map_err(|what| Problem::end(line, what))
    }

    fn find(names: &[&str], wanted: &Wanted) -> Result<Self, String> {
        let time_name = columns::time_column(names, wanted.time.as_deref())?;
        let costs = wanted.cost.columns().iter().map(|name| columns::find(names, name));
        Ok(Self {
            width: names.len(),
            time: columns::find(names, time_name)?,
            time_name: time_name.to_owned(),
            stamps: wanted.stamps(time_name),
            costs: costs.collect::<Result<_, _>>()?,
            key: wanted.key.as_ref().map(|name| columns::find(names, name)).transpose()?,
            latency: wanted.latency.as_ref().map(|latency| latency.among(names)).transpose()?,
        })
    }

    fn record(&mut self, row: &Row, line: u64, cost: &CostRule) -> Result<Record, String> {
        if row.width() != self.width {
            return Err(format!("{} columns; expected {} as in the header", row.width(), self.width));
        }
        let stamp = stamp(&mut self.stamps, &self.time_name, &shown(row.field(self.time)))?;
        let cost = cost.total(|index, _| Ok(shown(row.field(self.costs[index]))))?;
        let key = self.key.map(|index| shown(row.field(index)).into_owned());
        let latency = self.latency.as_ref().map(|(index, latency)| latency.read(&shown(row.field(*index))));
        Ok(Record { line, stamp, cost, key, latency: latency.transpose()? })
    }
}

impl Records for Csv {
    fn next(&mut self, lines: &mut Lines) -> Result<Option<Record>, Problem> {
        let header = match &mut self.header {
            Some(header) => header,
            missing => match Header::read(&mut self.row, lines, &self.wanted)? {
                Some(found) => missing.insert(found),
                None => return Ok(None),
            },
        };
        let Some(line) = self.row.read(lines)? else { return Ok(None) };
        header.record(&self.row, line, &self.wanted.cost).map(Some).map_err(|what| Problem::at(line, what))
    }
}

/// The fields of one record, in buffers that are used again.
struct Row {
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    width: usize,
}

impl Row {
    fn new() -> Self {
        let reader = ReaderBuilder::new().terminator(Terminator::Any(b'\n')).build();
        Self { reader, text: vec![0; 1 << 10], ends: vec![0; 32], width: 0 }
    }

    fn width(&self) -> usize {
        self.width
    }

    fn field(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    /// Reads the next record and gives the number of its first line. Blank lines are no records.
    fn read(&mut self, lines: &mut Lines) -> Result<Option<u64>, Problem> {
        if !lines.advance_to_text()? {
            return Ok(None);
        }
        let first = lines.number();
        let mut filled = 0;
        self.width = 0;
        while !self.feed(lines.text_and_feed(), &mut filled, first)? {
            if !lines.advance()? {
                return Err(Problem::end(first, "a quote in this record is never closed"));
            }
        }
        Ok(Some(first))
    }

    /// Feeds one line; `true` when it ended the record.
    fn feed(&mut self, mut line: &[u8], filled: &mut usize, first: u64) -> Result<bool, Problem> {
        while !line.is_empty() {
            let (result, read, wrote, ended) =
                self.reader.read_record(line, &mut self.text[*filled..], &mut self.ends[self.width..]);
            line = &line[read..];
            *filled += wrote;
            self.width += ended;
            match result {
                ReadRecordResult::Record => return Ok(true),
                ReadRecordResult::OutputFull => self.text.resize(longer(self.text.len(), first)?, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(longer(self.ends.len(), first)?, 0),
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
            }
        }
        Ok(false)
    }
}

fn longer(length: usize, first: u64) -> Result<usize, Problem> {
    if length >= LONGEST {
        return Err(Problem::end(first, "this record is longer than 1 MiB: is a quote left open?"));
    }
    Ok(2 * length)
}

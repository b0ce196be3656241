//! From what is written to declarations that hold together, or to all that is wrong with them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;

use super::amount::{Amount, AmountFault, Unit, Written};
use super::config::{Allowance, Config, Consumer, Limit, Share};
use super::fault::{ConfigError, Fault, Problem};
use super::file::{AllowanceRow, CallerRow, File, Lines, Named, ToolRow, path};
use super::part::Part;
use crate::inflight::InFlight;
use crate::quota::Quota;

/// The declarations, or what is wrong with them.
pub(super) fn checked(text: &str, file: File) -> Result<Config, ConfigError> {
    let mut rows: Vec<_> = file.allowance.into_iter().collect();
    rows.sort_by_key(|(name, _)| name.span().start);
    let places = rows.iter().enumerate().map(|(place, (name, _))| (name.get_ref().clone(), place)).collect();
    let mut check = Check { lines: Lines::of(text), places, faults: Vec::new() };
    let allowances = check.allowances(&rows);
    let tools = check.tools(&file.tool, &allowances);
    let callers = check.callers(&file.caller, &allowances);
    match allowances.into_iter().collect() {
        Some(allowances) if check.faults.is_empty() => Ok(Config { allowances, tools, callers }),
        _ => Err(ConfigError::new(check.faults)),
    }
}

type Row = (Spanned<String>, Spanned<AllowanceRow>);

/// An allowance whose limit could be worked out.
type Known = Option<Allowance>;

struct Check<'t> {
    lines: Lines<'t>,
    /// The places of allowances by their names.
    places: BTreeMap<String, usize>,
    faults: Vec<Fault>,
}

impl Check<'_> {
    /// Wholes first, then what is a share of them, and so on. What is wrong stays unknown, and is reported once.
    fn allowances(&mut self, rows: &[Row]) -> Vec<Known> {
        let parents: Vec<_> = rows.iter().map(|row| self.parent(row)).collect();
        let above: Vec<_> = (0..rows.len()).map(|place| all_above(place, &parents)).collect();
        let mut order: Vec<_> = (0..rows.len()).collect();
        order.sort_by_key(|&place| above.get(place).map_or(0, |above| above.as_ref().map_or(0, Vec::len)));
        let mut known: Vec<Known> = rows.iter().map(|_| None).collect();
        let mut reported = Vec::new();
        for place in order {
            let (Some(row), Some(above)) = (rows.get(place), above.get(place)) else { continue };
            let allowance = match above {
                Ok(above) => self.allowance(row, above, &known),
                Err(circle) => {
                    self.report_circle(row, place, circle, rows, &mut reported);
                    None
                }
            };
            if let Some(slot) = known.get_mut(place) {
                *slot = allowance;
            }
        }
        self.sums(rows, &known);
        known
    }

    /// The place of what the row says it is a share of.
    fn parent(&mut self, (name, row): &Row) -> Option<usize> {
        let whole = row.get_ref().share_of.as_ref()?;
        self.place(whole.get_ref(), whole.span(), &["allowance", name.get_ref(), "share-of"])
    }

    fn place(&mut self, name: &str, span: Range<usize>, field: &[&str]) -> Option<usize> {
        let place = self.places.get(name).copied();
        if place.is_none() {
            let similar = most_like(name, self.places.keys());
            self.report(span, field, Problem::UnknownAllowance { name: name.to_owned(), similar });
        }
        place
    }

    fn report(&mut self, span: Range<usize>, field: &[&str], problem: Problem) {
        let (line, field) = (self.lines.line(span.start), path(field.iter().copied()));
        self.faults.push(Fault { line, field, problem });
    }

    /// Reports a circle at the first of its members, once.
    fn report_circle(
        &mut self,
        (name, row): &Row,
        place: usize,
        circle: &[usize],
        rows: &[Row],
        reported: &mut Vec<usize>,
    ) {
        if !circle.contains(&place) || reported.contains(&place) {
            return;
        }
        reported.extend(circle);
        let name_of = |place: &usize| rows.get(*place).map_or("", |(name, _)| name.get_ref()).to_owned();
        let turn = circle.iter().position(|member| *member == place).unwrap_or(0);
        let members = circle.iter().cycle().skip(turn).take(circle.len() + 1);
        let problem = Problem::Cycle { path: members.map(name_of).collect() };
        let span = row.get_ref().share_of.as_ref().map_or(row.span(), Spanned::span);
        self.report(span, &["allowance", name.get_ref(), "share-of"], problem);
    }

    fn allowance(&mut self, (name, row): &Row, above: &[usize], known: &[Known]) -> Known {
        let of = Of { name: name.get_ref(), span: row.span(), row: row.get_ref() };
        let (unit, limit, share) = match of.row.share_of {
            None => self.whole(&of)?,
            Some(_) => self.share(&of, *above.first()?, known)?,
        };
        let line = self.lines.line(name.span().start);
        Some(Allowance { name: Arc::from(of.name), line, unit, limit, share, above: above.to_vec() })
    }

    fn whole(&mut self, of: &Of<'_>) -> Option<(Unit, Limit, Option<Share>)> {
        if let Some(share) = &of.row.share {
            self.report(share.span(), &of.field("share"), Problem::Missing { needed: "`share-of`" });
        }
        let unit = match &of.row.unit {
            Some(written) => self.unit(of, written)?,
            None => {
                self.report(
                    of.span.clone(),
                    &of.field("unit"),
                    Problem::Missing { needed: "`unit`, or `share-of`" },
                );
                return None;
            }
        };
        let limit = match unit {
            Unit::Permits => self.in_flight(of)?,
            Unit::Tokens | Unit::Calls => self.rate(of, unit)?,
        };
        Some((unit, limit, None))
    }

    fn unit(&mut self, of: &Of<'_>, written: &Spanned<String>) -> Option<Unit> {
        let unit = Unit::named(written.get_ref());
        if unit.is_none() {
            self.report(written.span(), &of.field("unit"), Problem::no_unit(written.get_ref()));
        }
        unit
    }

    fn rate(&mut self, of: &Of<'_>, unit: Unit) -> Option<Limit> {
        if let Some(other) = &of.row.in_flight {
            let problem = Problem::LimitOfOtherUnit { unit, instead: "rate" };
            self.report(other.span(), &of.field("in-flight"), problem);
            return None;
        }
        let Some(written) = &of.row.rate else {
            self.report(of.span.clone(), &of.field("rate"), Problem::Missing { needed: "`rate`" });
            return None;
        };
        match written.get_ref().parse::<Quota>() {
            Ok(quota) => Some(Limit::Rate(quota)),
            Err(error) => {
                let problem = Problem::Quota { written: written.get_ref().clone(), error };
                self.report(written.span(), &of.field("rate"), problem);
                None
            }
        }
    }

    fn in_flight(&mut self, of: &Of<'_>) -> Option<Limit> {
        if let Some(other) = &of.row.rate {
            let problem = Problem::LimitOfOtherUnit { unit: Unit::Permits, instead: "in-flight" };
            self.report(other.span(), &of.field("rate"), problem);
            return None;
        }
        let Some(written) = &of.row.in_flight else {
            self.report(of.span.clone(), &of.field("in-flight"), Problem::Missing { needed: "`in-flight`" });
            return None;
        };
        let limit =
            u32::try_from(*written.get_ref()).ok().filter(|limit| (1..=InFlight::MAX_LIMIT).contains(limit));
        if limit.is_none() {
            self.report(written.span(), &of.field("in-flight"), Problem::no_limit(*written.get_ref()));
        }
        limit.map(Limit::InFlight)
    }

    fn share(&mut self, of: &Of<'_>, whole: usize, known: &[Known]) -> Option<(Unit, Limit, Option<Share>)> {
        self.nothing_beside_a_share(of);
        let unit = match &of.row.unit {
            Some(written) => Some((self.unit(of, written)?, written.span())),
            None => None,
        };
        let Some(written) = &of.row.share else {
            self.report(of.span.clone(), &of.field("share"), Problem::Missing { needed: "`share`" });
            return None;
        };
        let Ok(part) = written.get_ref().parse::<Part>() else {
            self.report(written.span(), &of.field("share"), Problem::no_part(written.get_ref()));
            return None;
        };
        let parent = known.get(whole)?.as_ref()?;
        if let Some((asked, span)) = unit.filter(|(asked, _)| *asked != parent.unit) {
            let (allowance, counts) = (parent.name.to_string(), parent.unit);
            self.report(span, &of.field("unit"), Problem::UnitMismatch { allowance, counts, asked });
        }
        let Some(limit) = part.of(parent.limit) else {
            let problem = Problem::ShareTooSmall { share: part.to_string(), whole: parent.limit.to_string() };
            self.report(written.span(), &of.field("share"), problem);
            return None;
        };
        Some((parent.unit, limit, Some(Share { of: whole, part })))
    }

    fn nothing_beside_a_share(&mut self, of: &Of<'_>) {
        let rate = of.row.rate.as_ref().map(|rate| (rate.span(), "rate"));
        let in_flight = of.row.in_flight.as_ref().map(|limit| (limit.span(), "in-flight"));
        for (span, field) in [rate, in_flight].into_iter().flatten() {
            self.report(span, &of.field(field), Problem::NotBeside { other: "share-of" });
        }
    }

    /// Reports the first share of each allowance with which its shares are more than the whole.
    fn sums(&mut self, rows: &[Row], known: &[Known]) {
        let mut sums = BTreeMap::new();
        for ((name, row), allowance) in rows.iter().zip(known) {
            let Some(share) = allowance.as_ref().and_then(|allowance| allowance.share) else { continue };
            let before: u64 = sums.get(&share.of).copied().unwrap_or(0);
            let sum = before.saturating_add(share.part.millionths());
            sums.insert(share.of, sum);
            if before <= Part::WHOLE && sum > Part::WHOLE {
                let whole = rows.get(share.of).map_or("", |(name, _)| name.get_ref()).to_owned();
                let span = row.get_ref().share.as_ref().map_or(row.span(), Spanned::span);
                let problem = Problem::SharesAboveWhole { whole, millionths: sum };
                self.report(span, &["allowance", name.get_ref(), "share"], problem);
            }
        }
    }

    fn tools(&mut self, rows: &Named<ToolRow>, known: &[Known]) -> BTreeMap<String, Consumer> {
        let mut tools = BTreeMap::new();
        for (name, row) in rows {
            let written = row.get_ref().uses.as_ref();
            let uses = written
                .map_or_else(Vec::new, |uses| self.uses(["tool", name.get_ref()], uses.get_ref(), known));
            if written.is_none_or(|uses| uses.get_ref().is_empty()) {
                let span = written.map_or(row.span(), Spanned::span);
                self.report(span, &["tool", name.get_ref(), "uses"], Problem::UsesNothing);
            }
            let line = self.lines.line(name.span().start);
            tools.insert(name.get_ref().clone(), Consumer { line, uses, within: Vec::new() });
        }
        tools
    }

    fn callers(&mut self, rows: &Named<CallerRow>, known: &[Known]) -> BTreeMap<String, Consumer> {
        let mut callers = BTreeMap::new();
        for (name, row) in rows {
            let uses = self.uses(["caller", name.get_ref()], &row.get_ref().uses, known);
            let shares = row.get_ref().within.iter();
            let within = shares.filter_map(|share| self.within(name.get_ref(), share, known)).collect();
            let line = self.lines.line(name.span().start);
            callers.insert(name.get_ref().clone(), Consumer { line, uses, within });
        }
        callers
    }

    fn within(&mut self, caller: &str, share: &Spanned<String>, known: &[Known]) -> Option<usize> {
        let field = ["caller", caller, "within"];
        let place = self.place(share.get_ref(), share.span(), &field)?;
        let allowance = known.get(place)?.as_ref()?;
        if allowance.share.is_none() {
            self.report(share.span(), &field, Problem::NotAShare { name: share.get_ref().clone() });
        }
        Some(place)
    }

    /// What is used, in the order of the file.
    fn uses(&mut self, of: [&str; 2], uses: &Named<Written>, known: &[Known]) -> Vec<(usize, Amount)> {
        let mut uses: Vec<_> = uses.iter().collect();
        uses.sort_by_key(|(name, _)| name.span().start);
        let one = |(name, written): (&Spanned<String>, &Spanned<Written>)| {
            let [kind, consumer] = of;
            let field = [kind, consumer, "uses", name.get_ref()];
            let place = self.place(name.get_ref(), name.span(), &field)?;
            let allowance = known.get(place)?.as_ref()?;
            match amount(written.get_ref(), place, allowance, known) {
                Ok(amount) => Some((place, amount)),
                Err(problem) => {
                    self.report(written.span(), &field, problem);
                    None
                }
            }
        };
        uses.into_iter().filter_map(one).collect()
    }
}

/// One row, for whoever reports something about it.
struct Of<'a> {
    name: &'a str,
    span: Range<usize>,
    row: &'a AllowanceRow,
}

impl<'a> Of<'a> {
    fn field<'f>(&self, field: &'f str) -> [&'f str; 3]
    where
        'a: 'f,
    {
        ["allowance", self.name, field]
    }
}

/// The amount that is written, if it is one of that allowance, and fits into it and all that it is a share of.
fn amount(
    written: &Written,
    place: usize,
    allowance: &Allowance,
    known: &[Known],
) -> Result<Amount, Problem> {
    let amount = written.of(allowance.unit).map_err(|fault| problem(fault, written, allowance))?;
    let Amount::Fixed(needed) = amount else { return Ok(amount) };
    let chain = [place].into_iter().chain(allowance.above.iter().copied());
    let mut limits = chain.filter_map(|place| known.get(place)?.as_ref());
    match limits.find(|allowance| needed > allowance.limit.most()) {
        Some(small) => {
            let (allowance, most) = (small.name.to_string(), small.limit.most());
            Err(Problem::NeverFits { needed, allowance, most })
        }
        None => Ok(amount),
    }
}

fn problem(fault: AmountFault, written: &Written, allowance: &Allowance) -> Problem {
    let (counts, written) = (allowance.unit, written.to_string());
    match fault {
        AmountFault::Unit { asked } => {
            Problem::UnitMismatch { allowance: allowance.name.to_string(), counts, asked }
        }
        AmountFault::NoUnit => Problem::NumberOfTokens { written },
        AmountFault::Range => {
            let expected = format!("from 1 to {} {counts}", allowance.limit.most());
            Problem::Invalid { written, expected }
        }
        AmountFault::Syntax => {
            Problem::Invalid { written, expected: format!("\"{counts}\", or a whole number of {counts}") }
        }
    }
}

/// The places above `place`, from the next to the whole; or the circle that it leads into.
fn all_above(place: usize, parents: &[Option<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut path = vec![place];
    let mut at = place;
    while let Some(parent) = parents.get(at).copied().flatten() {
        if let Some(start) = path.iter().position(|seen| *seen == parent) {
            return Err(path.split_off(start));
        }
        path.push(parent);
        at = parent;
    }
    path.remove(0);
    Ok(path)
}

/// The declared name with the fewest edits from a name, if those are less than half of its letters.
fn most_like<'n>(name: &str, declared: impl Iterator<Item = &'n String>) -> Option<String> {
    let distances = declared.map(|other| (strsim::levenshtein(name, other), other));
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance * 2 < name.chars().count()).then(|| nearest.clone())
}

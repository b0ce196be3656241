//! Pictures of measured figures: bars, from the tables of the page that has them.
//!
//! Nothing is measured here. A picture says what its table says, and `cargo xtask figures` fails where it
//! does not.

use std::fmt::Write as _;
use std::fs;

use crate::project;
use crate::report::{Outcome, passed_with};

const PAGE: &str = "docs/performance.md";

/// Where bars begin and how wide the longest is.
const LEFT: f64 = 380.0;
const WIDEST: f64 = 400.0;
const TOP: usize = 56;
const ROW: usize = 26;

/// A column of the first table below a heading.
struct Picture {
    file: &'static str,
    heading: &'static str,
    column: &'static str,
    title: &'static str,
    /// Bars begin at 1 and are as long as the logarithm; else at 0.
    is_logarithmic: bool,
}

const PICTURES: &[Picture] = &[
    Picture {
        file: "docs/img/decision.svg",
        heading: "## One decision",
        column: "admitted",
        title: "nanoseconds of an admission, one thread",
        is_logarithmic: false,
    },
    Picture {
        file: "docs/img/threads.svg",
        heading: "## Several threads",
        column: "2 far",
        title: "million admissions a second, two threads on cores that are far (logarithmic)",
        is_logarithmic: true,
    },
    Picture {
        file: "docs/img/keys.svg",
        heading: "## By key",
        column: "Zipf",
        title: "nanoseconds of an admission by key, 100 000 keys by Zipf's law, one thread",
        is_logarithmic: false,
    },
];

/// Draws all.
pub(crate) fn draw(_: &[String]) -> Outcome {
    for picture in PICTURES {
        let drawn = picture.drawn()?;
        fs::write(project::root().join(picture.file), drawn)
            .map_err(|error| format!("{}: {error}", picture.file))?;
    }
    passed_with(format!("{} pictures", PICTURES.len()))
}

/// Fails if a picture is not that of its table.
pub(crate) fn check() -> Result<(), String> {
    let differs = |picture: &&Picture| {
        let there = fs::read_to_string(project::root().join(picture.file)).unwrap_or_default();
        picture.drawn().map_or(true, |drawn| drawn != there)
    };
    match PICTURES.iter().find(differs) {
        Some(picture) => {
            Err(format!("{} is not what {PAGE} says: draw it with `cargo xtask pictures`", picture.file))
        }
        None => Ok(()),
    }
}

impl Picture {
    fn drawn(&self) -> Result<String, String> {
        let page =
            fs::read_to_string(project::root().join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
        let bars = column(&page, self.heading, self.column)
            .filter(|bars| !bars.is_empty())
            .ok_or_else(|| format!("{PAGE}: no numbers in `{}` below `{}`", self.column, self.heading))?;
        Ok(svg(self, &bars))
    }

    fn length(&self, value: f64, largest: f64) -> f64 {
        let part = if self.is_logarithmic { value.max(1.0).ln() / largest.ln() } else { value / largest };
        part * WIDEST
    }
}

/// The names and numbers of a column.
fn column(page: &str, heading: &str, name: &str) -> Option<Vec<(String, f64)>> {
    let below = page.lines().skip_while(|line| *line != heading);
    let mut rows = below.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let place = cells(rows.next()?).position(|cell| cell == name)?;
    rows.skip(1)
        .map(|row| Some((cells(row).next()?.replace('`', ""), cells(row).nth(place)?.parse().ok()?)))
        .collect()
}

fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.trim_matches('|').split('|').map(str::trim)
}

fn svg(picture: &Picture, bars: &[(String, f64)]) -> String {
    let largest = bars.iter().fold(f64::MIN, |largest, (_, value)| largest.max(*value));
    let height = TOP + bars.len() * ROW + 12;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 {height}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"900\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"24\" y=\"32\" font-size=\"15\" fill=\"#333333\">{}</text>\n",
        picture.title
    );
    for (n, (name, value)) in bars.iter().enumerate() {
        let (top, length) = (TOP + n * ROW, picture.length(*value, largest));
        let is_ours = ["Bucket", "Shard", "Keyed", "Table"].iter().any(|ours| name.starts_with(ours));
        let colour = if is_ours { "#d55e00" } else { "#8c8c8c" };
        let _ = write!(
            svg,
            "<text x=\"{:.0}\" y=\"{}\" text-anchor=\"end\" fill=\"#333333\">{name}</text>\n\
             <rect x=\"{LEFT:.0}\" y=\"{top}\" width=\"{length:.1}\" height=\"18\" fill=\"{colour}\"/>\n\
             <text x=\"{:.1}\" y=\"{}\" fill=\"#333333\">{value}</text>\n",
            LEFT - 8.0,
            top + 14,
            LEFT + length + 6.0,
            top + 14,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# A\n\n## B\n\ntext\n\n| | x | y |\n|---|---|---|\n| `One` | 1 | 2.5 |\n| two | 3 | 4 |\n\n| z |\n";

    #[test]
    fn a_column_has_names_and_numbers() {
        assert_eq!(column(PAGE, "## B", "y"), Some(vec![("One".to_owned(), 2.5), ("two".to_owned(), 4.0)]));
        assert_eq!(column(PAGE, "## B", "z"), None);
        assert_eq!(column(PAGE, "## C", "y"), None);
    }

    #[test]
    fn the_longest_bar_is_that_of_the_largest_number() {
        for picture in PICTURES {
            assert_eq!(picture.length(40.0, 40.0), WIDEST);
            assert!(picture.length(4.0, 40.0) < WIDEST);
        }
    }
}

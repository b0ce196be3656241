//! The picture and the table of `docs/adaptation.md`: how the rate follows a silent upstream whose limit steps down and up.
//! `examples/adaptation.rs` writes them.

use std::fmt::Write;
use std::sync::Arc;

use tollgate::upstream::AdaptiveRate;
use tollgate::{Manual, Quota, quota};

use super::silent::{Kind, MS, Point, S, Setup, run};

/// What the caller believes to be the limit: half as much again as it is at best.
const BASE: Quota = quota!("150/s burst 5");
/// With the smallest step, in parts per thousand of the base.
const OTHERS: [(&str, Kind, Quota, u32); 9] = [
    ("a bucket of 1", Kind::Bucket(1.0), quota!("150/s burst 1"), 10),
    ("a bucket of 10", Kind::Bucket(10.0), quota!("150/s burst 5"), 10),
    ("a bucket of 10", Kind::Bucket(10.0), quota!("100/s burst 5"), 10),
    ("a bucket of 10; equal steps", Kind::Bucket(10.0), quota!("150/s burst 5"), 100),
    ("a bucket of 40", Kind::Bucket(40.0), quota!("150/s burst 5"), 10),
    ("windows of a tenth of a second", Kind::Windows(10), quota!("150/s burst 5"), 10),
    ("windows of a tenth of a second", Kind::Windows(10), quota!("100/s burst 5"), 10),
    ("windows of a second", Kind::Windows(1), quota!("150/s burst 5"), 10),
    ("windows of a second", Kind::Windows(1), quota!("100/s burst 5"), 10),
];
/// Seconds of which the mean tells whether it has settled: about as long as it is from one event to the next.
const SETTLED: u64 = 5;
/// Points a second.
const POINTS: u64 = 10;

const WIDTH: u64 = 900;
const HEIGHT: u64 = 440;
const LEFT: u64 = 56;
const TOP: u64 = 64;
const RIGHT: u64 = 24;
const BOTTOM: u64 = 48;
/// Requests a second at the upper end.
const HIGHEST: u64 = 160;

/// A run of which to tell.
pub(crate) struct Story {
    setup: Setup,
    base: Quota,
    points: Vec<Point>,
}

/// A time in which the limit does not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phase {
    /// From the second, to the second.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The limit, a second.
    pub(crate) limit: f64,
    /// In tenths of a second from the step on: when the limiter's rate is within a fifth of the limit for good, as the mean
    /// of each five seconds, and never more than a quarter above it.
    pub(crate) settled: u64,
    /// From ten seconds after the step on, what was accepted of what was allowed.
    pub(crate) utilisation: f64,
    /// From ten seconds after the step on, what was refused of what was sent.
    pub(crate) refused: f64,
}

impl Story {
    pub(crate) fn of_the_docs() -> Self {
        Self::new(Setup::down_and_up(Kind::Bucket(10.0)), BASE)
    }

    pub(crate) fn new(setup: Setup, base: Quota) -> Self {
        Self::with_steps(setup, base, 10)
    }

    fn with_steps(setup: Setup, base: Quota, smallest: u32) -> Self {
        let rate = AdaptiveRate::builder(base).smallest_step_permille(smallest);
        let rate = rate.build_with_clock(Arc::new(Manual::new())).expect("a base");
        let points = run(&setup, &rate, S / POINTS);
        Self { setup, base, points }
    }

    pub(crate) fn phases(&self) -> Vec<Phase> {
        let starts = self.setup.limits.iter().map(|(from, _)| from / S);
        let ends = starts.clone().skip(1).chain([self.setup.end / S]);
        starts.zip(ends).map(|(from, to)| self.phase(from, to)).collect()
    }

    fn phase(&self, from: u64, to: u64) -> Phase {
        let limit = self.setup.limit_at(from * S);
        let (accepted, refused) = self.counts((from + 10) * POINTS, to * POINTS);
        let utilisation = accepted / (limit * (to - from - 10) as f64);
        let is_off = |tenth: &u64| {
            let points = &self.points[*tenth as usize..(tenth + SETTLED * POINTS) as usize];
            let mean = points.iter().map(|point| self.rate_at(point)).sum::<f64>() / points.len() as f64;
            (mean - limit).abs() > limit / 5.0 || self.rate_at(&points[0]) > limit * 1.25
        };
        let last_off = (from * POINTS..=(to - SETTLED) * POINTS).rfind(is_off);
        let settled = last_off.map_or(0, |tenth| tenth + 1 - from * POINTS);
        Phase { from, to, limit, settled, utilisation, refused: refused / (accepted + refused) }
    }

    /// Accepted and refused between two points.
    fn counts(&self, from: u64, to: u64) -> (f64, f64) {
        let (first, last) = (self.points[from as usize], self.points[to as usize]);
        ((last.accepted - first.accepted) as f64, (last.refused - first.refused) as f64)
    }

    pub(crate) fn table(&self) -> String {
        let mut table = String::from(
            "| seconds | limit | settled after | used of the limit | refused |\n|---|---|---|---|---|\n",
        );
        for Phase { from, to, limit, settled, utilisation, refused } in self.phases() {
            let (used, refused) = (utilisation * 100.0, refused * 100.0);
            let (seconds, tenths) = (settled / POINTS, settled % POINTS);
            writeln!(
                table,
                "| {from} to {to} | {limit}/s | {seconds}.{tenths} s | {used:.1} % | {refused:.1} % |"
            )
            .expect("a text takes all");
        }
        table
    }

    /// The same with other upstreams, as means over the three phases.
    pub(crate) fn others() -> String {
        let mut table = String::from(
            "| the upstream has | the base is | used of the limit | refused |\n|---|---|---|---|\n",
        );
        for (name, kind, base, smallest) in OTHERS {
            let setup = Setup { between: S / 250, ..Setup::down_and_up(kind) };
            let phases = Self::with_steps(setup, base, smallest).phases();
            let mean =
                |of: fn(&Phase) -> f64| phases.iter().map(of).sum::<f64>() / phases.len() as f64 * 100.0;
            let (used, refused) = (mean(|phase| phase.utilisation), mean(|phase| phase.refused));
            writeln!(table, "| {name} | {base} | {used:.1} % | {refused:.1} % |").expect("a text takes all");
        }
        table
    }

    pub(crate) fn picture(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
        );
        svg += &(self.limit() + &self.axes() + &self.refusals() + &self.rate() + &self.accepted());
        svg + &legend() + "</svg>\n"
    }

    /// What the upstream allows, as an area.
    fn limit(&self) -> String {
        let mut points = format!("{:.1},{:.1}", self.across(0), up(0.0));
        for Phase { from, to, limit, .. } in self.phases() {
            for second in [from, to] {
                write!(points, " {:.1},{:.1}", self.across(second * S), up(limit)).expect("a text takes all");
            }
        }
        let (x, y) = (self.across(self.setup.end), up(0.0));
        format!("<polygon points=\"{points} {x:.1},{y:.1}\" fill=\"#dbe8cb\"/>\n")
    }

    fn axes(&self) -> String {
        let mut svg = String::new();
        for height in (0..=HIGHEST).step_by(20) {
            let y = up(height as f64);
            let (from, to) = (LEFT, WIDTH - RIGHT);
            writeln!(svg, "<line x1=\"{from}\" x2=\"{to}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>")
                .expect("a text takes all");
            svg += &text((LEFT - 8) as f64, y + 4.0, "end", &height.to_string());
        }
        for seconds in (0..=self.setup.end / S).step_by(5) {
            svg += &text(
                self.across(seconds * S),
                (HEIGHT - BOTTOM + 20) as f64,
                "middle",
                &format!("{seconds} s"),
            );
        }
        svg + &text(
            LEFT as f64,
            (TOP - 36) as f64,
            "start",
            "requests a second: what a silent upstream allows, and what the limiter makes of it",
        )
    }

    /// A stroke for each tenth of a second in which something was refused, as high as that is a second.
    fn refusals(&self) -> String {
        let mut svg = String::new();
        for pair in self.points.windows(2) {
            let refused = pair[1].refused - pair[0].refused;
            if refused > 0 {
                let (x, y) = (self.across(pair[1].at), up((refused * POINTS) as f64));
                writeln!(svg, "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{y:.1}\" stroke=\"#d55e00\" stroke-width=\"1.4\"/>", up(0.0))
                    .expect("a text takes all");
            }
        }
        svg
    }

    fn rate(&self) -> String {
        self.line("#8c8c8c", self.points.iter().map(|point| (point.at, self.rate_at(point))))
    }

    fn rate_at(&self, point: &Point) -> f64 {
        (self.base.tokens() * u64::from(point.permille)) as f64 / 1_000.0
    }

    /// Over the second before each point.
    fn accepted(&self) -> String {
        let seconds = self.points.windows(POINTS as usize + 1);
        self.line(
            "#0072b2",
            seconds.map(|second| {
                let (first, last) = (second[0], second[POINTS as usize]);
                (last.at, (last.accepted - first.accepted) as f64)
            }),
        )
    }

    fn line(&self, colour: &str, points: impl Iterator<Item = (u64, f64)>) -> String {
        let points: Vec<String> =
            points.map(|(at, height)| format!("{:.1},{:.1}", self.across(at), up(height))).collect();
        format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.4\"/>\n",
            points.join(" ")
        )
    }

    fn across(&self, at: u64) -> f64 {
        LEFT as f64 + (at / MS) as f64 * (WIDTH - LEFT - RIGHT) as f64 / (self.setup.end / MS) as f64
    }
}

fn legend() -> String {
    let entries = [
        ("allowed", "#dbe8cb"),
        ("accepted in the last second", "#0072b2"),
        ("rate of the limiter", "#8c8c8c"),
        ("refused by the upstream", "#d55e00"),
    ];
    let (mut svg, mut x) = (String::new(), LEFT);
    for (name, colour) in entries {
        let y = TOP - 22;
        writeln!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"14\" height=\"10\" fill=\"{colour}\"/>")
            .expect("a text takes all");
        svg += &text((x + 20) as f64, (TOP - 13) as f64, "start", name);
        x += 44 + 7 * name.len() as u64;
    }
    svg
}

fn text(x: f64, y: f64, anchor: &str, words: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#333333\">{words}</text>\n")
}

fn up(height: f64) -> f64 {
    let whole = (HEIGHT - TOP - BOTTOM) as f64;
    (HEIGHT - BOTTOM) as f64 - height.min(HIGHEST as f64) * whole / HIGHEST as f64
}

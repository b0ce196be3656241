//! Draws how adaptive limits follow a simulated server whose capacity steps down and up:
//!
//!     cargo run --release -p tollgate-bench --bin adaptive > docs/img/adaptive.svg
//!
//! The server is the one of the library's tests, and so is the published rule that is drawn beside. The picture goes to
//! standard output, figures to standard error.

#[path = "../../../tests/it/inflight/gradient2.rs"]
mod gradient2;
#[path = "../../../tests/it/inflight/server.rs"]
mod server;

use std::fmt::Write;
use std::sync::Arc;

use gradient2::Gradient2;
use server::{MS, Point, S, Setup, run};
use tollgate::Manual;
use tollgate::inflight::{Adaptive, Aimd, Algorithm, Bounds, Gradient};

const WIDTH: u64 = 900;
const HEIGHT: u64 = 420;
const LEFT: u64 = 56;
const TOP: u64 = 64;
const RIGHT: u64 = 24;
const BOTTOM: u64 = 48;
const HIGHEST: u64 = 80;

struct Line {
    name: &'static str,
    colour: &'static str,
    points: Vec<Point>,
}

fn main() {
    let setup = Setup::down_and_up();
    let lines = [
        line("gradient", "#d55e00", Gradient::default(), &setup),
        line("AIMD", "#0072b2", Aimd::default(), &setup),
        line("Gradient2 as published, blind to rejections", "#8c8c8c", Gradient2::default(), &setup),
    ];
    for line in &lines {
        tell(line);
    }
    print!("{}", picture(&setup, &lines));
}

fn line(name: &'static str, colour: &'static str, algorithm: impl Algorithm, setup: &Setup) -> Line {
    let bounds = Bounds::new(4, 20, 200).expect("valid bounds");
    let limit = Adaptive::with_clock(algorithm, bounds, Arc::new(Manual::new()));
    Line { name, colour, points: run(setup, &limit, 50 * MS) }
}

fn tell(line: &Line) {
    let Some(last) = line.points.last() else { return };
    let Point { done, rejected, held_back, .. } = last;
    eprintln!(
        "{}: {done} done, {rejected} rejected by the server, {held_back} held back by the limit",
        line.name
    );
}

fn picture(setup: &Setup, lines: &[Line]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    svg += &axes(setup);
    svg += &capacity(setup);
    for line in lines.iter().rev() {
        let points: Vec<String> = line
            .points
            .iter()
            .map(|point| format!("{},{}", across(setup, point.at), up(point.limit.into())))
            .collect();
        let (colour, points) = (line.colour, points.join(" "));
        svg += &format!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.3\"/>\n"
        );
    }
    svg + &legend(lines) + "</svg>\n"
}

/// The workers as an area, and on it the queue before them.
fn capacity(setup: &Setup) -> String {
    let area = |room: u64, colour: &str| {
        let mut points = format!("{},{}", across(setup, 0), up(0));
        for (at, (from, workers)) in setup.workers.iter().enumerate() {
            let until = setup.workers.get(at + 1).map_or(setup.end, |(next, _)| *next);
            for time in [*from, until] {
                let height = up(u64::from(*workers) + room);
                write!(points, " {},{height}", across(setup, time)).expect("a text takes all");
            }
        }
        format!("<polygon points=\"{points} {},{}\" fill=\"{colour}\"/>\n", across(setup, setup.end), up(0))
    };
    area(setup.queue as u64, "#e3ecd9") + &area(0, "#c5d9ae")
}

fn axes(setup: &Setup) -> String {
    let mut svg = String::new();
    for height in (0..=HIGHEST).step_by(20) {
        let y = up(height);
        let (from, to) = (LEFT, WIDTH - RIGHT);
        svg += &format!("<line x1=\"{from}\" x2=\"{to}\" y1=\"{y}\" y2=\"{y}\" stroke=\"#dddddd\"/>\n");
        svg += &text(LEFT - 8, y + 4, "end", &height.to_string());
    }
    for seconds in (0..=setup.end / S).step_by(5) {
        let x = across(setup, seconds * S);
        svg += &text(x, HEIGHT - BOTTOM + 20, "middle", &format!("{seconds} s"));
    }
    svg + &text(LEFT, TOP - 36, "start", "limit on requests in flight, and what the server has room for")
}

fn legend(lines: &[Line]) -> String {
    let entries = lines.iter().map(|line| (line.name, line.colour));
    let entries = entries.chain([("workers", "#c5d9ae"), ("queue", "#e3ecd9")]);
    let (mut svg, mut x) = (String::new(), LEFT);
    for (name, colour) in entries {
        svg +=
            &format!("<rect x=\"{x}\" y=\"{}\" width=\"14\" height=\"10\" fill=\"{colour}\"/>\n", TOP - 22);
        svg += &text(x + 20, TOP - 13, "start", name);
        x += 44 + 7 * name.len() as u64;
    }
    svg
}

fn text(x: u64, y: u64, anchor: &str, words: &str) -> String {
    format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"#333333\">{words}</text>\n")
}

fn across(setup: &Setup, at: u64) -> u64 {
    LEFT + at * (WIDTH - LEFT - RIGHT) / setup.end
}

fn up(height: u64) -> u64 {
    HEIGHT - BOTTOM - height.min(HIGHEST) * (HEIGHT - TOP - BOTTOM) / HIGHEST
}

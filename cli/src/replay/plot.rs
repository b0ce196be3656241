//! `--plot`: one column a limit, with cost per second, the level of the bucket, and admitted cost under its bound.

use super::Replayed;
use super::lane::Lane;
use super::series::{Bins, Course, Flow};
use crate::plot::axis::{self, Axis};
use crate::plot::panel::{Frame, Key};
use crate::plot::svg::{Stroke, Style, Svg, colour};
use crate::text::{file_name, grouped, share, span};

const MARGIN_LEFT: f64 = 70.0;
const MARGIN_RIGHT: f64 = 30.0;
const HEADER: f64 = 62.0;
const PANELS_TOP: f64 = HEADER + 102.0;
const PANEL_HEIGHT: f64 = 190.0;
const PANEL_STEP: f64 = 290.0;

const RATE: Stroke = Stroke::dashed(colour::TEXT, 1.2);
const BOUND: Stroke = Stroke::solid(colour::BOUND, 1.6);

/// The picture as the text of an SVG file.
pub(super) fn draw(replayed: &Replayed) -> String {
    let courses: Vec<_> = replayed.lanes.iter().filter_map(|lane| Some((lane, lane.course()?))).collect();
    let width = if courses.len() == 1 { 940.0 } else { 620.0 };
    let scales = Scales::of(&courses, replayed.trace.span().as_secs_f64());
    let title = format!("{}, cost {}", file_name(replayed.trace.name()), replayed.cost);
    let mut svg = Svg::new("c");
    svg.text(MARGIN_LEFT, 30.0, &title, Style::TITLE);
    svg.text(MARGIN_LEFT, 50.0, &subtitle(replayed), Style::NOTE);
    for (index, (lane, course)) in courses.iter().enumerate() {
        let left = index as f64 * (width + MARGIN_LEFT + MARGIN_RIGHT) + MARGIN_LEFT;
        draw_column(&mut svg, lane, course, &scales, (left, width));
    }
    let full = courses.len() as f64 * (width + MARGIN_LEFT + MARGIN_RIGHT);
    svg.finish(full, PANELS_TOP + 2.0 * PANEL_STEP + PANEL_HEIGHT + 52.0, &title)
}

pub(super) fn subtitle(replayed: &Replayed) -> String {
    let requests = replayed.lanes.first().map_or(0, |lane| lane.tally().offered().requests);
    format!("{} requests over {}", grouped(requests), span(replayed.trace.span()))
}

/// What the axes reach to: the same for every limit, so that columns can be compared.
struct Scales {
    seconds: f64,
    flow: f64,
    sum: f64,
}

impl Scales {
    fn of(courses: &[(&Lane, &Course)], span_seconds: f64) -> Self {
        let over_lanes =
            |f: &dyn Fn(&Lane, &Course) -> f64| courses.iter().map(|(l, c)| f(l, c)).fold(0.0, f64::max);
        let seconds = span_seconds.max(1.0);
        Self {
            seconds,
            flow: over_lanes(&|lane, course| flow_reach(lane, course.flow())).max(1.0) * 1.08,
            sum: over_lanes(&|lane, _| sum_reach(lane, seconds)).max(1.0) * 1.04,
        }
    }
}

/// The highest offered bin; rate and bound only where they do not press it flat.
fn flow_reach(lane: &Lane, flow: &Bins<Flow>) -> f64 {
    let highest = flow.bins().iter().map(|bin| bin.offered).max().unwrap_or(0) as f64 / seconds(flow.width());
    let lines = [rate(lane), bin_bound(lane, flow.width())];
    lines.into_iter().filter(|line| *line <= 1.6 * highest).fold(highest, f64::max)
}

/// The admitted sum, and as much of the offered one and of the bound as does not press it flat.
fn sum_reach(lane: &Lane, span: f64) -> f64 {
    let (offered, admitted) = (lane.tally().offered().cost as f64, lane.tally().admitted.cost as f64);
    let bound = lane.quota().capacity() as f64 + rate(lane) * span;
    admitted.max(offered.min(1.6 * bound)).max(bound.min(1.25 * offered))
}

fn draw_column(svg: &mut Svg, lane: &Lane, course: &Course, scales: &Scales, (left, width): (f64, f64)) {
    svg.text(left, HEADER + 24.0, lane.name(), Style { size: 15, ..Style::TITLE });
    let note = format!(
        "admitted {}, refused {}, never {}",
        share(lane.tally().admitted.requests, lane.tally().offered().requests),
        grouped(lane.tally().refused.requests),
        grouped(lane.tally().never.requests)
    );
    svg.text(left, HEADER + 42.0, &note, Style::NOTE);
    let frame = |row: f64, y_max: f64| Frame {
        left,
        top: PANELS_TOP + row * PANEL_STEP,
        width,
        height: PANEL_HEIGHT,
        x: Axis::time(scales.seconds, "the first arrival"),
        y: Axis::linear(y_max, 4.0),
    };
    draw_flow(svg, &frame(0.0, scales.flow), lane, course.flow());
    draw_level(svg, &frame(1.0, lane.quota().capacity() as f64 * 1.06), lane, course);
    draw_sums(svg, &frame(2.0, scales.sum), lane, course.flow());
}

/// Offered and admitted cost per second, with the rate and the most that one bin may hold.
fn draw_flow(svg: &mut Svg, frame: &Frame, lane: &Lane, flow: &Bins<Flow>) {
    frame.draw_grid(svg);
    let (rate, bound, bin) = (rate(lane), bin_bound(lane, flow.width()), seconds(flow.width()));
    svg.clipped(frame.edges(), |svg| {
        svg.area(&steps(frame, flow, |bin| bin.offered), colour::OFFERED, 1.0);
        svg.area(&steps(frame, flow, |bin| bin.admitted), colour::ADMITTED, 1.0);
        svg.line(frame.point(0.0, rate), frame.point(frame.x.scale.max(), rate), RATE);
        svg.line(frame.point(0.0, bound), frame.point(frame.x.scale.max(), bound), BOUND);
    });
    let mean = if bin == 1.0 { String::new() } else { format!(", mean of {bin} s") };
    let above = |value: f64| if value > frame.y.scale.max() { " (above)" } else { "" };
    let legend = [
        Key::area(colour::OFFERED, "offered"),
        Key::area(colour::ADMITTED, "admitted"),
        Key::line(RATE, format!("rate r = {}/s{}", axis::label(rate), above(rate))),
        Key::line(BOUND, format!("bound on {bin} s: {}/s{}", axis::label(bound), above(bound))),
    ];
    frame.draw_titles(svg, &format!("Cost in tokens per second{mean}"), &legend);
}

/// The tokens in the bucket, as a band from the lowest to the highest in each bin.
fn draw_level(svg: &mut Svg, frame: &Frame, lane: &Lane, course: &Course) {
    frame.draw_grid(svg);
    let capacity = lane.quota().capacity() as f64;
    let full = Stroke::dashed(colour::TEXT, 1.2);
    let width = seconds(course.level().width());
    let seen = course.level().bins().iter().enumerate().filter(|(_, bin)| bin.low <= bin.high);
    let edge = |value: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        seen.clone().map(|(i, _)| frame.point((i as f64 + 0.5) * width, value(i))).collect()
    };
    let low = edge(&|i| course.level().bins()[i].low as f64);
    let mut band = edge(&|i| course.level().bins()[i].high as f64);
    band.extend(low.iter().rev());
    svg.clipped(frame.edges(), |svg| {
        svg.area(&band, colour::LEVEL, 0.35);
        svg.path(&low, Stroke::solid(colour::LEVEL, 1.2));
    });
    svg.line(frame.point(0.0, capacity), frame.point(frame.x.scale.max(), capacity), full);
    let legend = [
        Key::line(Stroke::solid(colour::LEVEL, 2.0), "tokens in the bucket: lowest (line) to highest (band)"),
        Key::line(full, format!("capacity B = {}", axis::label(capacity))),
    ];
    frame.draw_titles(svg, "Level of the bucket in tokens", &legend);
}

/// Cost summed from the start, under what the bound allows since then.
fn draw_sums(svg: &mut Svg, frame: &Frame, lane: &Lane, flow: &Bins<Flow>) {
    frame.draw_grid(svg);
    let capacity = lane.quota().capacity() as f64;
    let (offered, admitted) =
        (Stroke::solid(colour::OFFERED_LINE, 1.6), Stroke::solid(colour::ADMITTED, 2.0));
    svg.clipped(frame.edges(), |svg| {
        svg.path(&sums(frame, flow, |bin| bin.offered), offered);
        let end = capacity + rate(lane) * frame.x.scale.max();
        svg.line(frame.point(0.0, capacity), frame.point(frame.x.scale.max(), end), BOUND);
        svg.path(&sums(frame, flow, |bin| bin.admitted), admitted);
    });
    let legend = [
        Key::line(offered, "offered"),
        Key::line(admitted, "admitted"),
        Key::line(BOUND, "bound B + r·t: the most that may be admitted by then"),
    ];
    frame.draw_titles(svg, "Cost in tokens, summed since the first arrival", &legend);
}

/// An area of steps, one a bin, in cost per second.
pub(super) fn steps(frame: &Frame, flow: &Bins<Flow>, cost: impl Fn(&Flow) -> u128) -> Vec<(f64, f64)> {
    let width = seconds(flow.width());
    let mut points = vec![frame.point(0.0, 0.0)];
    for (i, bin) in flow.bins().iter().enumerate() {
        let height = cost(bin) as f64 / width;
        points.push(frame.point(i as f64 * width, height));
        points.push(frame.point((i + 1) as f64 * width, height));
    }
    points.push(frame.point(flow.bins().len() as f64 * width, 0.0));
    points
}

/// A line through the sums at the ends of the bins.
fn sums(frame: &Frame, flow: &Bins<Flow>, cost: impl Fn(&Flow) -> u128) -> Vec<(f64, f64)> {
    let width = seconds(flow.width());
    let mut sum = 0;
    let mut points = vec![frame.point(0.0, 0.0)];
    for (i, bin) in flow.bins().iter().enumerate() {
        sum += cost(bin);
        let end = ((i + 1) as f64 * width).min(frame.x.scale.max());
        points.push(frame.point(end, sum as f64));
    }
    points
}

/// Tokens a second.
pub(super) fn rate(lane: &Lane) -> f64 {
    lane.quota().tokens() as f64 / lane.quota().period().as_secs_f64()
}

/// The bound on one bin, as a mean per second over it.
fn bin_bound(lane: &Lane, width: u64) -> f64 {
    lane.quota().capacity() as f64 / seconds(width) + rate(lane)
}

pub(super) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

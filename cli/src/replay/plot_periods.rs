//! `--plot` with `--algorithm`: one row a form, with cost per second beside what was admitted within the last period.

use super::Replayed;
use super::lane::Lane;
use super::plot::{rate, seconds, steps, subtitle};
use super::series::{Bins, Course, Flow};
use crate::plot::axis::{self, Axis};
use crate::plot::panel::{Frame, Key};
use crate::plot::svg::{Stroke, Style, Svg, colour};
use crate::text::{file_name, grouped, share, span};

const MARGIN: f64 = 70.0;
const PANEL_WIDTH: f64 = 600.0;
const PANEL_HEIGHT: f64 = 170.0;
const FIRST_ROW: f64 = 162.0;
const ROW_STEP: f64 = 300.0;

const LIMIT: Stroke = Stroke::dashed(colour::TEXT, 1.2);
const TWICE: Stroke = Stroke::dashed(colour::LIMIT, 1.2);
const HELD: Stroke = Stroke::solid(colour::ADMITTED, 1.4);

/// The picture as the text of an SVG file.
pub(super) fn draw(replayed: &Replayed) -> String {
    let courses: Vec<_> = replayed.lanes.iter().filter_map(|lane| Some((lane, lane.course()?))).collect();
    let title = format!("{}, cost {}", file_name(replayed.trace.name()), replayed.cost);
    let scales = Scales::of(&courses, replayed.trace.span().as_secs_f64());
    let mut svg = Svg::new("p");
    svg.text(MARGIN, 30.0, &title, Style::TITLE);
    svg.text(MARGIN, 50.0, &subtitle(replayed), Style::NOTE);
    for (row, (lane, course)) in courses.iter().enumerate() {
        draw_row(&mut svg, FIRST_ROW + row as f64 * ROW_STEP, lane, course, &scales);
    }
    let height = FIRST_ROW + courses.len() as f64 * ROW_STEP - 70.0;
    svg.finish(3.0 * MARGIN + 2.0 * PANEL_WIDTH, height, &title)
}

/// What the axes reach to: the same for every row, so that forms can be compared.
struct Scales {
    seconds: f64,
    flow: f64,
    held: f64,
}

impl Scales {
    fn of(courses: &[(&Lane, &Course)], span_seconds: f64) -> Self {
        let over_lanes =
            |f: &dyn Fn(&Lane, &Course) -> f64| courses.iter().map(|(l, c)| f(l, c)).fold(1.0, f64::max);
        let offered = |course: &Course| {
            let highest = course.flow().bins().iter().map(|bin| bin.offered).max().unwrap_or(0);
            highest as f64 / seconds(course.flow().width())
        };
        Self {
            seconds: span_seconds.max(1.0),
            flow: over_lanes(&|_, course| offered(course)) * 1.08,
            held: over_lanes(&|lane, _| most(lane).max(2.0 * lane.quota().tokens() as f64)) * 1.08,
        }
    }
}

fn draw_row(svg: &mut Svg, top: f64, lane: &Lane, course: &Course, scales: &Scales) {
    svg.text(MARGIN, top - 68.0, lane.name(), Style { size: 15, ..Style::TITLE });
    let (admitted, offered) = (lane.tally().admitted, lane.tally().offered());
    let note = format!(
        "admitted {} of {} requests and {} of {} tokens",
        share(admitted.requests, offered.requests),
        grouped(offered.requests),
        share(admitted.cost, offered.cost),
        grouped(offered.cost)
    );
    svg.text(MARGIN, top - 50.0, &note, Style::NOTE);
    let frame = |column: f64, y_max: f64| Frame {
        left: MARGIN + column * (PANEL_WIDTH + MARGIN),
        top,
        width: PANEL_WIDTH,
        height: PANEL_HEIGHT,
        x: Axis::time(scales.seconds, "the first arrival"),
        y: Axis::linear(y_max, 4.0),
    };
    draw_flow(svg, &frame(0.0, scales.flow), lane, course.flow());
    draw_held(svg, &frame(1.0, scales.held), lane, course);
}

/// Offered and admitted cost per second, with the limit as a rate.
fn draw_flow(svg: &mut Svg, frame: &Frame, lane: &Lane, flow: &Bins<Flow>) {
    frame.draw_grid(svg);
    let rate = rate(lane);
    svg.clipped(frame.edges(), |svg| {
        svg.area(&steps(frame, flow, |bin| bin.offered), colour::OFFERED, 1.0);
        svg.area(&steps(frame, flow, |bin| bin.admitted), colour::ADMITTED, 1.0);
        svg.line(frame.point(0.0, rate), frame.point(frame.x.scale.max(), rate), LIMIT);
    });
    let bin = seconds(flow.width());
    let mean = if bin == 1.0 { String::new() } else { format!(", mean of {bin} s") };
    let legend = [
        Key::area(colour::OFFERED, "offered"),
        Key::area(colour::ADMITTED, "admitted"),
        Key::line(LIMIT, format!("the limit as a rate: {}/s", axis::label(rate))),
    ];
    frame.draw_titles(svg, &format!("Cost in tokens per second{mean}"), &legend);
}

/// The cost admitted in the period that ends at each moment: what an exact log would keep to the limit.
fn draw_held(svg: &mut Svg, frame: &Frame, lane: &Lane, course: &Course) {
    frame.draw_grid(svg);
    let (limit, width) = (lane.quota().tokens() as f64, seconds(course.level().width()));
    let seen = course.level().bins().iter().enumerate().filter(|(_, bin)| bin.low <= bin.high);
    let points: Vec<_> = seen
        .flat_map(|(i, bin)| [(i as f64, bin.low), (i as f64 + 0.5, bin.high)])
        .map(|(bins, held)| frame.point(bins * width, held as f64))
        .collect();
    let across = |svg: &mut Svg, y: f64, stroke| {
        svg.line(frame.point(0.0, y), frame.point(frame.x.scale.max(), y), stroke);
    };
    svg.clipped(frame.edges(), |svg| {
        svg.path(&points, HELD);
        across(svg, limit, LIMIT);
        across(svg, 2.0 * limit, TWICE);
    });
    let legend = [
        Key::line(HELD, format!("held, at most {}", axis::label(most(lane)))),
        Key::line(LIMIT, format!("limit {}", axis::label(limit))),
        Key::line(TWICE, "twice the limit"),
    ];
    let period = span(lane.quota().period());
    frame.draw_titles(svg, &format!("Admitted within the last {period}, in tokens"), &legend);
}

fn most(lane: &Lane) -> f64 {
    lane.form().map_or(0.0, |form| form.in_period.most() as f64)
}

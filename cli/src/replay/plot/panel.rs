//! A panel: a frame with axes, a title and a legend, onto which curves are drawn.

use super::axis;
use super::svg::{Stroke, Style, Svg, colour};

/// Where a panel is, and what its axes reach to.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Seconds.
    pub(super) x_max: f64,
    pub(super) y_max: f64,
}

impl Frame {
    /// The point of a value at a time in seconds.
    pub(super) fn point(&self, seconds: f64, value: f64) -> (f64, f64) {
        let x = self.left + self.width * seconds / self.x_max;
        let y = self.top + self.height * (1.0 - value / self.y_max);
        (x, y)
    }

    /// Its edges: left, top, width and height.
    pub(super) fn edges(&self) -> [f64; 4] {
        [self.left, self.top, self.width, self.height]
    }

    /// Grid and tick labels, under everything else.
    pub(super) fn draw_grid(&self, svg: &mut Svg) {
        let (_, unit) = axis::time_unit(self.x_max);
        let base = self.top + self.height;
        for tick in axis::ticks(self.y_max, 4.0) {
            let (_, y) = self.point(0.0, tick);
            svg.line((self.left, y), (self.left + self.width, y), Stroke::solid(colour::GRID, 1.0));
            svg.text(self.left - 8.0, y + 4.0, &axis::label(tick), Style::TICK_Y);
        }
        for tick in axis::ticks(self.x_max / unit, 6.0) {
            let (x, _) = self.point(tick * unit, 0.0);
            svg.line((x, base), (x, base + 4.0), Stroke::solid(colour::AXIS, 1.0));
            svg.text(x, base + 17.0, &axis::label(tick), Style::TICK_X);
        }
    }

    /// The base line and the titles, over everything else.
    pub(super) fn draw_titles(&self, svg: &mut Svg, title: &str, legend: &[Key]) {
        let (name, _) = axis::time_unit(self.x_max);
        let base = self.top + self.height;
        svg.line((self.left, base), (self.left + self.width, base), Stroke::solid(colour::AXIS, 1.0));
        let style = Style { anchor: "end", ..Style::NOTE };
        svg.text(self.left + self.width, base + 33.0, &format!("{name} since the first arrival"), style);
        svg.text(self.left, self.top - 28.0, title, Style::PANEL);
        draw_legend(svg, self.left, self.top - 10.0, legend);
    }
}

/// An entry of a legend.
pub(super) struct Key {
    pub(super) mark: Mark,
    pub(super) text: String,
}

/// How an entry looks in the panel.
pub(super) enum Mark {
    Area(&'static str),
    Line(Stroke),
}

impl Key {
    pub(super) fn area(colour: &'static str, text: impl Into<String>) -> Self {
        Self { mark: Mark::Area(colour), text: text.into() }
    }

    pub(super) fn line(stroke: Stroke, text: impl Into<String>) -> Self {
        Self { mark: Mark::Line(stroke), text: text.into() }
    }
}

fn draw_legend(svg: &mut Svg, mut x: f64, y: f64, keys: &[Key]) {
    for Key { mark, text } in keys {
        match mark {
            Mark::Area(colour) => svg.rect(x, y - 9.0, 14.0, 10.0, colour),
            Mark::Line(stroke) => svg.line((x, y - 4.0), (x + 22.0, y - 4.0), *stroke),
        }
        let gap = if matches!(mark, Mark::Area(_)) { 19.0 } else { 27.0 };
        svg.text(x + gap, y, text, Style::LEGEND);
        // The width of text is not known without a font: this is ample for 12 px Helvetica.
        x += gap + text.chars().count() as f64 * 6.4 + 16.0;
    }
}

//! The few SVG elements that a picture needs.

use std::fmt::Write;

/// Colours that stay apart for colour-blind eyes (Okabe and Ito) and in grey print.
pub(crate) mod colour {
    pub(crate) const TEXT: &str = "#222222";
    pub(crate) const FAINT_TEXT: &str = "#666666";
    pub(crate) const GRID: &str = "#e4e4e4";
    pub(crate) const AXIS: &str = "#888888";
    pub(crate) const OFFERED: &str = "#c4c4c4";
    pub(crate) const OFFERED_LINE: &str = "#8a8a8a";
    pub(crate) const ADMITTED: &str = "#0072b2";
    pub(crate) const LEVEL: &str = "#009e73";
    pub(crate) const BOUND: &str = "#d55e00";
    pub(crate) const LIMIT: &str = "#b00020";
}

/// How a line is drawn.
#[derive(Clone, Copy)]
pub(crate) struct Stroke {
    pub(crate) colour: &'static str,
    pub(crate) width: f64,
    pub(crate) dashes: &'static str,
}

impl Stroke {
    pub(crate) const fn solid(colour: &'static str, width: f64) -> Self {
        Self { colour, width, dashes: "none" }
    }

    pub(crate) const fn dashed(colour: &'static str, width: f64) -> Self {
        Self { colour, width, dashes: "6 4" }
    }
}

/// How a text is set.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub(crate) size: u32,
    pub(crate) weight: u32,
    pub(crate) colour: &'static str,
    pub(crate) anchor: &'static str,
}

impl Style {
    pub(crate) const TITLE: Self = Self { size: 17, weight: 600, colour: colour::TEXT, anchor: "start" };
    pub(crate) const PANEL: Self = Self { size: 13, weight: 600, colour: colour::TEXT, anchor: "start" };
    pub(crate) const NOTE: Self = Self { size: 12, weight: 400, colour: colour::FAINT_TEXT, anchor: "start" };
    pub(crate) const LEGEND: Self = Self { size: 12, weight: 400, colour: colour::TEXT, anchor: "start" };
    pub(crate) const TICK_X: Self =
        Self { size: 11, weight: 400, colour: colour::FAINT_TEXT, anchor: "middle" };
    pub(crate) const TICK_Y: Self = Self { size: 11, weight: 400, colour: colour::FAINT_TEXT, anchor: "end" };
}

/// A picture that is being drawn.
pub(crate) struct Svg {
    body: String,
    /// What its identifiers begin with: all pictures of one document share them.
    prefix: String,
    clips: u32,
}

impl Svg {
    pub(crate) fn new(prefix: impl Into<String>) -> Self {
        Self { body: String::new(), prefix: prefix.into(), clips: 0 }
    }

    /// The whole file.
    pub(crate) fn finish(self, width: f64, height: f64, title: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 \
             {width:.0} {height:.0}\" role=\"img\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n\
             <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            escaped(title),
            self.body
        )
    }

    pub(crate) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: &str) {
        self.add(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>"
        ));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        let Stroke { colour, width, dashes } = stroke;
        self.add(format_args!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-dasharray=\"{dashes}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    /// A line through points.
    pub(crate) fn path(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        let Stroke { colour, width, dashes } = stroke;
        let d = route(points);
        self.add(format_args!(
            "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-dasharray=\"{dashes}\" \
             stroke-linejoin=\"round\"/>"
        ));
    }

    /// A filled circle.
    pub(crate) fn dot(&mut self, (x, y): (f64, f64), radius: f64, fill: &str) {
        self.add(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\"/>"));
    }

    /// The area that points enclose.
    pub(crate) fn area(&mut self, points: &[(f64, f64)], fill: &str, opacity: f64) {
        let d = route(points);
        self.add(format_args!("<path d=\"{d}Z\" fill=\"{fill}\" fill-opacity=\"{opacity}\"/>"));
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, text: &str, style: Style) {
        let Style { size, weight, colour, anchor } = style;
        let text = escaped(text);
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" font-weight=\"{weight}\" fill=\"{colour}\" \
             text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    /// Everything that `draw` draws is cut off at the edges of a rectangle.
    pub(crate) fn clipped(&mut self, [x, y, width, height]: [f64; 4], draw: impl FnOnce(&mut Self)) {
        self.clips += 1;
        let id = format!("{}{}", self.prefix, self.clips);
        self.add(format_args!(
            "<clipPath id=\"{id}\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\
             </clipPath>\n<g clip-path=\"url(#{id})\">"
        ));
        draw(self);
        self.add(format_args!("</g>"));
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

fn route(points: &[(f64, f64)]) -> String {
    let mut d = String::with_capacity(points.len() * 14);
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = write!(d, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
    }
    d
}

/// Text for an element: marks escaped, and characters that XML does not allow replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

//! A small builder of inline SVG. Everything is a presentation attribute, so a figure survives without its style
//! sheet; ink that has to fit light and dark pages is `currentColor` or one of the mid-tones below.

use crate::escape::escape;

/// Mid-tones that keep a contrast of 3:1 against white and near-black, told apart by people with any of the
/// common colour-vision deficiencies (after Okabe and Ito). Shapes or labels always say the same.
pub(crate) mod colour {
    pub(crate) const BLUE: &str = "#2f7fc1";
    pub(crate) const VERMILION: &str = "#d55e00";
    pub(crate) const GREEN: &str = "#009e73";
    pub(crate) const PURPLE: &str = "#b8649a";
    pub(crate) const OCHRE: &str = "#a67c00";
    pub(crate) const GREY: &str = "#808080";
    /// The page's own ink.
    pub(crate) const INK: &str = "currentColor";
}

/// The form of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Disc,
    Ring,
    Cross,
    Diamond,
    Square,
    Up,
    Down,
}

/// Which end of a text lies at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// One element, written attribute by attribute.
#[derive(Debug)]
pub(crate) struct Element {
    text: String,
    name: &'static str,
}

impl Element {
    pub(crate) fn new(name: &'static str) -> Self {
        Element { text: format!("<{name}"), name }
    }

    /// An attribute with text.
    pub(crate) fn set(mut self, key: &str, value: &str) -> Self {
        self.text.push_str(&format!(" {key}=\"{}\"", escape(value)));
        self
    }

    /// An attribute with a number.
    pub(crate) fn num(mut self, key: &str, value: f64) -> Self {
        self.text.push_str(&format!(" {key}=\"{}\"", short(value)));
        self
    }

    /// Closes the element around a tooltip (`<title>`), or empty.
    fn closed(mut self, tooltip: &str, content: &str) -> String {
        if tooltip.is_empty() && content.is_empty() {
            self.text.push_str("/>");
        } else {
            self.text.push('>');
            if !tooltip.is_empty() {
                self.text.push_str(&format!("<title>{}</title>", escape(tooltip)));
            }
            self.text.push_str(&format!("{}</{}>", escape(content), self.name));
        }
        self.text
    }
}

/// A coordinate with one decimal. A number that is not finite cannot be drawn and goes to the origin; scales never
/// give one.
fn short(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.is_finite() { format!("{}", rounded + 0.0) } else { "0".to_owned() }
}

/// A figure that grows.
#[derive(Debug)]
pub(crate) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Svg { width, height, body: String::new() }
    }

    pub(crate) fn push(&mut self, element: Element) {
        self.push_with(element, "");
    }

    pub(crate) fn push_with(&mut self, element: Element, tooltip: &str) {
        self.body.push_str(&element.closed(tooltip, ""));
        self.body.push('\n');
    }

    /// A line of the given colour and width.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: &str, width: f64) {
        self.push(line(from, to, ink, width));
    }

    /// A faint line in the page's ink, for grids.
    pub(crate) fn grid(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.push(line(from, to, colour::INK, 1.0).set("stroke-opacity", "0.15"));
    }

    /// A dashed line in the page's ink, for thresholds.
    pub(crate) fn dashed(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.push(
            line(from, to, colour::INK, 1.0).set("stroke-dasharray", "4 3").set("stroke-opacity", "0.7"),
        );
    }

    /// A filled rectangle without outline.
    pub(crate) fn bar(&mut self, at: (f64, f64), size: (f64, f64), ink: &str, opacity: &str, tooltip: &str) {
        let mut element = rect(at, size).set("fill", ink);
        if opacity != "1" {
            element = element.set("fill-opacity", opacity);
        }
        self.push_with(element, tooltip);
    }

    /// Text in the page's ink.
    pub(crate) fn text(&mut self, at: (f64, f64), anchor: Anchor, text: &str) {
        self.write(text_at(at, anchor), text, "");
    }

    /// Smaller, fainter text: axes and remarks.
    pub(crate) fn note(&mut self, at: (f64, f64), anchor: Anchor, text: &str) {
        self.write(text_at(at, anchor).set("font-size", "11").set("fill-opacity", "0.75"), text, "");
    }

    /// Bold text.
    pub(crate) fn strong(&mut self, at: (f64, f64), anchor: Anchor, text: &str) {
        self.write(text_at(at, anchor).set("font-weight", "bold"), text, "");
    }

    /// A text element with its tooltip.
    pub(crate) fn write(&mut self, element: Element, text: &str, tooltip: &str) {
        self.body.push_str(&element.closed(tooltip, text));
        self.body.push('\n');
    }

    /// A mark of the given form; rings and crosses are drawn as outlines.
    pub(crate) fn mark(&mut self, shape: Shape, at: (f64, f64), radius: f64, ink: &str, tooltip: &str) {
        let ((x, y), r) = (at, radius);
        let filled =
            |points: &[(f64, f64)]| Element::new("polygon").set("points", &joined(points)).set("fill", ink);
        let element = match shape {
            Shape::Disc => Element::new("circle").num("cx", x).num("cy", y).num("r", r).set("fill", ink),
            Shape::Ring => Element::new("circle")
                .num("cx", x)
                .num("cy", y)
                .num("r", r)
                .set("fill", "none")
                .set("stroke", ink)
                .set("stroke-width", "1.5"),
            Shape::Cross => {
                let d = |value: f64| short(value);
                let path = format!(
                    "M{} {}L{} {}M{} {}L{} {}",
                    d(x - r),
                    d(y - r),
                    d(x + r),
                    d(y + r),
                    d(x - r),
                    d(y + r),
                    d(x + r),
                    d(y - r)
                );
                Element::new("path")
                    .set("d", &path)
                    .set("fill", "none")
                    .set("stroke", ink)
                    .set("stroke-width", "2")
            }
            Shape::Diamond => filled(&[(x - r, y), (x, y - r), (x + r, y), (x, y + r)]),
            Shape::Square => rect((x - r, y - r), (2.0 * r, 2.0 * r)).set("fill", ink),
            Shape::Up => filled(&[(x - r, y + r), (x, y - r), (x + r, y + r)]),
            Shape::Down => filled(&[(x - r, y - r), (x, y + r), (x + r, y - r)]),
        };
        self.push_with(element, tooltip);
    }

    /// A line through points.
    pub(crate) fn polyline(
        &mut self,
        points: &[(f64, f64)],
        ink: &str,
        width: f64,
        opacity: f64,
        tooltip: &str,
    ) {
        let mut element = Element::new("polyline")
            .set("points", &joined(points))
            .set("fill", "none")
            .set("stroke", ink)
            .set("stroke-width", &format!("{width}"))
            .set("stroke-linejoin", "round");
        if opacity < 1.0 {
            element = element.set("stroke-opacity", &format!("{opacity}"));
        }
        self.push_with(element, tooltip);
    }

    /// The whole figure; `label` is what a screen reader says.
    pub(crate) fn finish(self, label: &str) -> String {
        let (width, height) = (short(self.width), short(self.height));
        format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"{}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"currentColor\">\n{}</svg>\n",
            escape(label),
            self.body
        )
    }
}

/// A text element at a point, not yet written.
pub(crate) fn text_at(at: (f64, f64), anchor: Anchor) -> Element {
    let element = Element::new("text").num("x", at.0).num("y", at.1);
    match anchor {
        Anchor::Start => element,
        Anchor::Middle => element.set("text-anchor", "middle"),
        Anchor::End => element.set("text-anchor", "end"),
    }
}

/// A line element, not yet pushed.
fn line(from: (f64, f64), to: (f64, f64), ink: &str, width: f64) -> Element {
    Element::new("line")
        .num("x1", from.0)
        .num("y1", from.1)
        .num("x2", to.0)
        .num("y2", to.1)
        .set("stroke", ink)
        .num("stroke-width", width)
}

/// A rectangle element, not yet pushed.
pub(crate) fn rect(at: (f64, f64), size: (f64, f64)) -> Element {
    Element::new("rect")
        .num("x", at.0)
        .num("y", at.1)
        .num("width", size.0.max(0.0))
        .num("height", size.1.max(0.0))
}

fn joined(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.mark(Shape::Disc, (1.0, 2.25), 3.0, colour::BLUE, "a <b> & \"c\"");
        svg.text((0.0, 0.0), Anchor::End, "</text><script>");
        let text = svg.finish("\"x\"");
        assert!(text.contains("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
        assert!(text.contains("&lt;/text&gt;&lt;script&gt;</text>"));
        assert!(text.contains("aria-label=\"&quot;x&quot;\""));
        assert!(text.contains("cy=\"2.3\""), "one decimal: {text}");
    }

    #[test]
    fn what_cannot_be_drawn_is_never_written() {
        assert_eq!(short(f64::NAN), "0");
        assert_eq!(short(f64::NEG_INFINITY), "0");
        assert_eq!(short(-0.01), "0");
    }
}

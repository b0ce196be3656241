//! A small kit for pictures in SVG: written by hand, so that a file needs neither scripts nor fonts nor a network.

pub(crate) mod axis;
pub(crate) mod panel;
pub(crate) mod svg;

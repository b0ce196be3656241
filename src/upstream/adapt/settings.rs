//! What an adaptive rate goes by, and why it cannot be so.

use std::fmt;
use std::time::Duration;

use super::AdaptiveRate;
use super::meter::Meter;
use crate::clock::{Clock, Monotonic};
use crate::quota::Quota;

/// Factors and bounds are in parts per thousand.
pub(super) const WHOLE: u32 = 1_000;

/// The highest bound, in parts per thousand of the base.
const MOST: u32 = 10 * WHOLE;

/// Sets an [`AdaptiveRate`] up. Rates are in parts per thousand of the base.
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveRateBuilder {
    base: Quota,
    settings: Settings,
}

/// What the rules need to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) lowest: u32,
    pub(super) highest: u32,
    pub(super) refusal: u32,
    pub(super) congestion: u32,
    pub(super) step: u32,
    pub(super) smallest_step: u32,
    pub(super) run: u32,
    pub(super) latency: Duration,
    pub(super) growth: u32,
    pub(super) silence: Duration,
    pub(super) probe: Duration,
}

/// An adaptive rate that cannot be built; it names the setting, the value and the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdaptiveRateError {
    /// A number is out of its range.
    OutOfRange {
        /// The setting, by the name of its method.
        setting: &'static str,
        /// The value asked for.
        value: u32,
        /// The least it may be.
        least: u32,
        /// The most it may be.
        most: u32,
    },
    /// A span of no length.
    ZeroSpan {
        /// The setting, by the name of its method.
        setting: &'static str,
    },
    /// So small a part of the base, or so many times it, is a rate that cannot be written down as a [`Quota`].
    Base {
        /// The base.
        base: Quota,
        /// The part, per thousand.
        permille: u32,
    },
}

impl AdaptiveRateBuilder {
    pub(super) fn new(base: Quota) -> Self {
        Self { base, settings: Settings::default() }
    }

    /// The lowest and the highest rate: 100 and 1000, a tenth of the base and the base itself. From 1 to 10 000. The rate
    /// begins with the base, or with the bound that is nearest to it.
    pub fn bounds_permille(mut self, lowest: u32, highest: u32) -> Self {
        (self.settings.lowest, self.settings.highest) = (lowest, highest);
        self
    }

    /// What an event makes of the rate that began with a refusal: 500, the half. From 1 to 999.
    pub fn refusal_permille(mut self, factor: u32) -> Self {
        self.settings.refusal = factor;
        self
    }

    /// What an event makes of the rate that began with a latency, a time-out or a stalled stream: 800. From 1 to 999.
    pub fn congestion_permille(mut self, factor: u32) -> Self {
        self.settings.congestion = factor;
        self
    }

    /// The largest step up: 100, a tenth of the base. From 1 to 10 000.
    pub fn step_permille(mut self, step: u32) -> Self {
        self.settings.step = step;
        self
    }

    /// The smallest step up, near the rate at which the last event came: 10. From 1 to the largest step.
    pub fn smallest_step_permille(mut self, step: u32) -> Self {
        self.settings.smallest_step = step;
        self
    }

    /// After how many successes in a row the next one raises the rate: 10. From 1 to 1 000 000.
    pub fn run(mut self, successes: u32) -> Self {
        self.settings.run = successes;
        self
    }

    /// A latency above this is congestion: 30 s. More than zero.
    pub fn latency(mut self, longest: Duration) -> Self {
        self.settings.latency = longest;
        self
    }

    /// A 99th percentile of latency that is so many times what it used to be is congestion: 2000, twice. From 1001 to
    /// 1 000 000.
    pub fn growth_permille(mut self, growth: u32) -> Self {
        self.settings.growth = growth;
        self
    }

    /// A stream that says nothing for so long is stalled: 10 s. More than zero.
    pub fn silence(mut self, longest: Duration) -> Self {
        self.settings.silence = longest;
        self
    }

    /// A probe that has not been answered for so long is lost, and another may go out: 30 s. More than zero.
    pub fn probe_deadline(mut self, longest: Duration) -> Self {
        self.settings.probe = longest;
        self
    }

    /// On the [`Monotonic`] clock.
    ///
    /// # Errors
    ///
    /// [`AdaptiveRateError`] for the first setting that is out of its range.
    pub fn build(self) -> Result<AdaptiveRate, AdaptiveRateError> {
        self.build_with_clock(Monotonic::new())
    }

    /// On a clock of the caller's.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn build_with_clock<C: Clock>(self, clock: C) -> Result<AdaptiveRate<C>, AdaptiveRateError> {
        let settings = self.settings.checked()?;
        for permille in [settings.lowest, settings.highest] {
            let fits = Meter::can_run_at(&self.base, permille);
            fits.then_some(()).ok_or(AdaptiveRateError::Base { base: self.base, permille })?;
        }
        Ok(AdaptiveRate::of(self.base, settings, clock))
    }
}

impl Settings {
    fn checked(self) -> Result<Self, AdaptiveRateError> {
        within("bounds_permille", self.highest, 1, MOST)?;
        within("bounds_permille", self.lowest, 1, self.highest)?;
        within("refusal_permille", self.refusal, 1, WHOLE - 1)?;
        within("congestion_permille", self.congestion, 1, WHOLE - 1)?;
        within("step_permille", self.step, 1, MOST)?;
        within("smallest_step_permille", self.smallest_step, 1, self.step)?;
        within("run", self.run, 1, 1_000_000)?;
        within("growth_permille", self.growth, WHOLE + 1, 1_000_000)?;
        some("latency", self.latency)?;
        some("silence", self.silence)?;
        some("probe_deadline", self.probe)?;
        Ok(self)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lowest: 100,
            highest: WHOLE,
            refusal: 500,
            congestion: 800,
            step: 100,
            smallest_step: 10,
            run: 10,
            latency: Duration::from_secs(30),
            growth: 2 * WHOLE,
            silence: Duration::from_secs(10),
            probe: Duration::from_secs(30),
        }
    }
}

impl fmt::Display for AdaptiveRateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { setting, value, least, most } => {
                write!(f, "`{setting}` of {value}: must be from {least} to {most}")
            }
            Self::ZeroSpan { setting } => write!(f, "`{setting}` of 0 ns: must be at least 1 ns"),
            Self::Base { base, permille } => {
                write!(
                    f,
                    "base of {base}: {permille} thousandths of it must be at most 10^10 tokens a second, "
                )?;
                write!(f, "and its tokens and its period at most a thousandth of what a quota can hold")
            }
        }
    }
}

impl std::error::Error for AdaptiveRateError {}

fn within(setting: &'static str, value: u32, least: u32, most: u32) -> Result<(), AdaptiveRateError> {
    let fits = (least..=most).contains(&value);
    fits.then_some(()).ok_or(AdaptiveRateError::OutOfRange { setting, value, least, most })
}

fn some(setting: &'static str, span: Duration) -> Result<(), AdaptiveRateError> {
    if span.is_zero() { Err(AdaptiveRateError::ZeroSpan { setting }) } else { Ok(()) }
}

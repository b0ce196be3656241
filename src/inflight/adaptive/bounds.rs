//! Where an adaptive limit may go.

use crate::inflight::{LimitError, line};

/// The lowest, the first and the highest limit, and how long the line may be. No algorithm moves the limit outside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    min: u32,
    initial: u32,
    max: u32,
    pub(super) depth: usize,
}

impl Bounds {
    /// From `min` to `max`, beginning with `initial`.
    ///
    /// # Errors
    ///
    /// [`LimitError::OutOfRange`] for a bound of 0 or of 2^31 and more, [`LimitError::OutOfOrder`] unless
    /// `min <= initial <= max`.
    pub fn new(min: u32, initial: u32, max: u32) -> Result<Self, LimitError> {
        for limit in [min, initial, max] {
            LimitError::checked(limit)?;
        }
        if min <= initial && initial <= max {
            Ok(Self { min, initial, max, depth: line::depth_for(max) })
        } else {
            Err(LimitError::OutOfOrder { min, initial, max })
        }
    }

    /// Lets at most `depth` callers wait in line, see [`InFlight::max_waiting`](crate::inflight::InFlight::max_waiting);
    /// eight times the highest limit unless told otherwise.
    pub fn max_waiting(self, depth: usize) -> Self {
        Self { depth, ..self }
    }

    /// The lowest limit.
    pub fn min(&self) -> u32 {
        self.min
    }

    /// The first limit.
    pub fn initial(&self) -> u32 {
        self.initial
    }

    /// The highest limit.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// The estimate within the bounds; what is no number leaves the `last` one.
    pub(super) fn clamp(&self, estimate: f64, last: f64) -> f64 {
        if estimate.is_nan() { last } else { estimate.clamp(self.min.into(), self.max.into()) }
    }
}

//! Large requests go to a limit of their own.

/// Two limits, one for small costs and one for large ones, so that neither kind keeps the other out.
///
/// ```
/// use tollgate::budget::{AllOf, BySize};
/// use tollgate::{Bucket, quota};
///
/// let (small, large) = (Bucket::new(quota!("200k/min")), Bucket::new(quota!("100k/min")));
/// let (requests, tokens) = (Bucket::new(quota!("300/min")), BySize::new(&small, &large, 20_000));
/// let ask = |cost| AllOf::new(["requests", "tokens"], (&requests, tokens.of(cost))).try_acquire([1, cost]);
/// ask(80_000)?;
/// assert!(ask(80_000).is_err(), "the pool for large ones is empty");
/// ask(19_999)?;
/// # Ok::<(), tollgate::budget::Refused>(())
/// ```
#[derive(Debug)]
pub struct BySize<'l, L> {
    small: &'l L,
    large: &'l L,
    large_from: u64,
}

impl<'l, L> BySize<'l, L> {
    /// Costs from `large_from` tokens on are `large`'s, those below `small`'s.
    pub fn new(small: &'l L, large: &'l L, large_from: u64) -> Self {
        Self { small, large, large_from }
    }

    /// The limit for a cost.
    pub fn of(&self, cost: u64) -> &'l L {
        if cost < self.large_from { self.small } else { self.large }
    }
}

impl<L> Clone for BySize<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for BySize<'_, L> {}

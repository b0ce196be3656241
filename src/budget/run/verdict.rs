//! Whether calls fit under ceilings: now, once all that is open is given back, or never.

use super::outcome::{Ceiling, Ended, NoCall, Reserved};

/// One ceiling, and how the calls asked for stand to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) ceiling: Ceiling,
    pub(super) used: u64,
    pub(super) open: u64,
    pub(super) asked: u128,
    pub(super) allowed: u64,
}

/// The first ceiling that ends the run, and the first that does not let it go on for now; both may be an
/// ancestor's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verdict {
    ended: Option<Ended>,
    reserved: Option<Reserved>,
}

impl Standing {
    /// What it means for the run so many levels below: an end if it does not even fit once all that is open
    /// has been given back.
    pub(super) fn judge(self, levels_up: u8, verdict: &mut Verdict) {
        let Self { ceiling, used, open, asked, allowed } = self;
        let fits_beside = |taken: u128| taken + asked <= allowed.into();
        if fits_beside(u128::from(used) + u128::from(open)) {
            return;
        }
        let asked = u64::try_from(asked).unwrap_or(u64::MAX);
        if fits_beside(used.into()) {
            let used = used.saturating_add(open);
            verdict.reserved.get_or_insert(Reserved::hit(ceiling, levels_up, used, asked, allowed));
        } else {
            verdict.end(Ended::hit(ceiling, levels_up, used, asked, allowed));
        }
    }

    /// The end of the run by what has been used, without anything being asked.
    pub(super) fn overrun(self) -> Option<Ended> {
        let mut verdict = Verdict::default();
        Self { open: 0, asked: 0, ..self }.judge(0, &mut verdict);
        verdict.ended
    }
}

impl Verdict {
    pub(super) fn end(&mut self, ended: Ended) {
        self.ended.get_or_insert(ended);
    }

    pub(super) fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// # Errors
    ///
    /// An end counts for more than a refusal for now.
    pub(super) fn answer(self) -> Result<(), NoCall> {
        match (self.ended, self.reserved) {
            (Some(ended), _) => Err(NoCall::Ended(ended)),
            (None, Some(reserved)) => Err(NoCall::Reserved(reserved)),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(used: u64, open: u64, asked: u128, allowed: u64) -> Result<(), NoCall> {
        let mut verdict = Verdict::default();
        Standing { ceiling: Ceiling::Tokens, used, open, asked, allowed }.judge(2, &mut verdict);
        verdict.answer()
    }

    #[test]
    fn what_fits_once_all_is_given_back_is_refused_for_now() {
        assert_eq!(judged(3, 4, 3, 10), Ok(()));
        let Err(NoCall::Reserved(reserved)) = judged(3, 4, 4, 10) else { panic!("7 are taken") };
        assert_eq!((reserved.used(), reserved.asked(), reserved.levels_up()), (7, 4, 2));
        let Err(NoCall::Ended(ended)) = judged(3, 4, 8, 10) else { panic!("3 are used") };
        assert_eq!((ended.used(), ended.asked(), ended.levels_up()), (3, 8, 2));
    }

    #[test]
    fn no_sum_wraps() {
        let most = u64::MAX;
        assert!(judged(most, 0, 0, most).is_ok());
        assert!(judged(most, most, 0, most).is_err());
        assert!(judged(0, 0, u128::from(most), most).is_ok());
        assert!(judged(0, 0, u128::from(most) + 1, most).is_err());
        assert!(judged(0, 1, u128::from(most), most).is_err());
    }
}

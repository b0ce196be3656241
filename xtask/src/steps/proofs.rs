//! The proof of the transitions, and the vectors that tie it to the code.

use crate::process::Run;
use crate::report::{Outcome, passed_with};
use crate::tools;

pub(crate) fn prove(_: &[String]) -> Outcome {
    tools::wheels()?;
    Run::new(tools::python()).words("-B proofs/vectors.py --check").run()?;
    let output = Run::new(tools::python()).words("-B proofs/prove.py").heard()?;
    passed_with(output.trim_end().lines().last().unwrap_or_default())
}

//! What `--redis` names. Whether the program can go there is another matter: see the feature `redis`.

use std::str::FromStr;

/// Where `--redis` says that the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere: one is started.
    Own,
    At(String),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::Own),
            _ if text.contains("://") => Ok(Self::At(text.to_owned())),
            _ => Err("expected a URL such as redis://127.0.0.1:6379/; a trace goes before --redis".into()),
        }
    }
}

/// The program cannot go there.
#[cfg(not(feature = "redis"))]
pub(crate) fn unreachable() -> crate::failure::Failure {
    crate::failure::Failure::Input(
        "--redis: the program was built without it: add `--features redis` to the command that builds it"
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_url_or_nothing() {
        assert_eq!("".parse(), Ok(Place::Own));
        assert_eq!("redis://host:1/".parse(), Ok(Place::At("redis://host:1/".into())));
        let error = "trace.csv".parse::<Place>().unwrap_err();
        assert!(error.contains("a trace goes before --redis"), "{error}");
    }
}

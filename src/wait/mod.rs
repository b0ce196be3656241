//! Waiting for tokens.

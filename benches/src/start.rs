//! How cargo started a benchmark that brings its own `main`.

/// Whether it is only to show that it runs, as under `cargo test`; `cargo bench` gives `--bench`. `None` if its tests were
/// to be listed: it has none.
pub fn is_smoke() -> Option<bool> {
    let has = |name: &str| std::env::args().skip(1).any(|argument| argument == name);
    (!has("--list")).then(|| !has("--bench"))
}

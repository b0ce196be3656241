//! The floors of `docs/internals.md`: imports point strictly down, and other rules of the house that a text
//! can be checked for.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Which room stands on which floor. A room is a file or a folder directly under `src/`.
const FLOORS: [(u8, &[&str]); 11] = [
    (0, &["axis", "nanos", "sync"]),
    (1, &["clock", "decision", "quota"]),
    (2, &["gcra", "limiter"]),
    (3, &["level", "snapshot", "word"]),
    (4, &["bucket"]),
    (5, &["held", "line", "rpc", "slot"]),
    (6, &["sharded", "keyed", "window", "inflight", "wait", "adjust"]),
    (7, &["adjustable_shards", "budget", "upstream"]),
    (8, &["shared_memory", "redis", "http", "tower", "metrics", "tracing"]),
    (9, &["measured_requests"]),
    // Longer texts, shown as modules; no code.
    (10, &["docs"]),
];

/// The core: no float up to here.
const LAST_FLOOR_OF_THE_CORE: u8 = 4;
const MAX_LINES: usize = 400;

fn floor_of(room: &str) -> Option<u8> {
    FLOORS.iter().find(|(_, rooms)| rooms.contains(&room)).map(|(floor, _)| *floor)
}

/// One file of the library, without its tests, comments and texts.
struct Source {
    path: String,
    room: String,
    code: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        let room = path.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_string();
        Source { path: path.to_string(), room, code: without_comments_and_texts(&without_tests(text)) }
    }

    fn is_root(&self) -> bool {
        self.path == "lib.rs"
    }

    /// What is wrong with it, in words.
    fn faults(&self) -> Vec<String> {
        if self.is_root() {
            return Vec::new();
        }
        let Some(floor) = floor_of(&self.room) else {
            return vec![format!("{}: the room `{}` has no floor", self.path, self.room)];
        };
        let mut faults = self.imports_that_do_not_point_down(floor);
        let lines = self.code.lines().count();
        if lines > MAX_LINES {
            faults.push(format!("{}: {lines} lines, at most {MAX_LINES}", self.path));
        }
        for checker in ["loom", "shuttle"] {
            if self.path != "sync.rs" && has_word(&self.code, checker) {
                faults.push(format!("{}: names the checker {checker}; only sync.rs may", self.path));
            }
        }
        if floor <= LAST_FLOOR_OF_THE_CORE && has_float(&self.code) {
            faults.push(format!("{}: a float in the core", self.path));
        }
        faults
    }

    fn imports_that_do_not_point_down(&self, floor: u8) -> Vec<String> {
        let mut faults = Vec::new();
        for room in imported_rooms(&self.code) {
            let fine = room == self.room || floor_of(&room).is_some_and(|other| other < floor);
            if !fine {
                let other = floor_of(&room).map_or("the root".to_string(), |other| format!("floor {other}"));
                faults.push(format!("{} (floor {floor}) imports `{room}` ({other})", self.path));
            }
        }
        if self.reaches_the_root_by_super() {
            faults.push(format!("{}: `super` reaches the root; write `crate`", self.path));
        }
        faults
    }

    /// In `room.rs` and `room/mod.rs` the parent is the root, in `room/part.rs` the grandparent is.
    fn reaches_the_root_by_super(&self) -> bool {
        let depth = self.path.matches('/').count() - usize::from(self.path.ends_with("/mod.rs"));
        self.code.contains(&"super::".repeat(depth + 1))
    }
}

/// The text without items under a `cfg` that asks for `test`. In formatted code such an item at the margin
/// ends with the next closing brace at the margin.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("#[cfg(") && has_word(line, "test") {
            let of_one_line = lines.next().is_none_or(|line| line.ends_with(';') || line.ends_with('}'));
            let _end = (!of_one_line).then(|| lines.by_ref().find(|line| line.starts_with('}')));
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The code without line comments, doc comments and the contents of texts in quotes.
fn without_comments_and_texts(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['"', '/', '\'']) {
        code.push_str(&rest[..start]);
        rest = &rest[start..];
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("'\"'") || rest.starts_with("'/'") {
            rest = &rest[3..];
        } else if let Some(inside) = rest.strip_prefix('"') {
            rest = &inside[end_of_text(inside)..];
            code.push_str("\"\"");
        } else {
            code.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    code + rest
}

/// The place behind the quote that ends a text.
fn end_of_text(inside: &str) -> usize {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    inside.len()
}

/// The first names behind `crate::`, also those in braces: `crate::{a::b, c}`. `$crate::` in a macro is the
/// caller's.
fn imported_rooms(code: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for (at, found) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c == '$' || is_of_a_word(c)) {
            continue;
        }
        let path = &code[at + found.len()..];
        let names = if path.starts_with('{') { names_in_braces(path) } else { vec![name_at(path)] };
        rooms.extend(names.into_iter().map(str::to_string));
    }
    rooms
}

fn names_in_braces(path: &str) -> Vec<&str> {
    let (mut depth, mut names) = (0, Vec::new());
    for (at, c) in path.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 1 && matches!(c, '{' | ',') {
            names.push(name_at(path[at + 1..].trim_start()));
        }
        if depth == 0 {
            break;
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn name_at(text: &str) -> &str {
    &text[..text.find(|c| !is_of_a_word(c)).unwrap_or(text.len())]
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c| !is_of_a_word(c)).any(|found| found == word)
}

fn has_float(code: &str) -> bool {
    let literal = |(at, _): (usize, &str)| {
        let (before, after) = (code[..at].chars().next_back(), code[at + 1..].chars().next());
        before.is_some_and(|c| c.is_ascii_digit()) && after.is_some_and(|c| c.is_ascii_digit())
    };
    has_word(code, "f32") || has_word(code, "f64") || code.match_indices('.').any(literal)
}

fn library() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let relative = |file: &Path| {
        let parts: Vec<_> =
            file.strip_prefix(&root).unwrap().iter().map(|part| part.to_str().unwrap()).collect();
        parts.join("/")
    };
    files.iter().map(|file| Source::new(&relative(file), &fs::read_to_string(file).unwrap())).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn imports_point_strictly_down_and_the_rules_of_the_house_hold() {
    let sources = library();
    let rooms: BTreeSet<_> = sources.iter().map(|source| source.room.as_str()).collect();
    for room in ["lib", "sync", "nanos", "quota", "decision", "clock", "gcra", "word", "bucket", "limiter"] {
        assert!(rooms.contains(room), "nothing was read of `{room}`: {rooms:?}");
    }
    let faults: Vec<_> = sources.iter().flat_map(Source::faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let imports: usize = sources.iter().map(|source| imported_rooms(&source.code).len()).sum();
    assert!(imports >= 20, "only {imports} imports were seen");
}

#[test]
fn the_root_lists_its_modules_from_the_ground_up() {
    let root = library().into_iter().find(Source::is_root).unwrap();
    let modules = root.code.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "));
    let floors: Vec<_> =
        modules.map(|name| floor_of(name_at(name)).unwrap_or_else(|| panic!("`{name}`"))).collect();
    assert!(floors.is_sorted(), "{floors:?}");
    assert!(floors.len() >= 10, "{floors:?}");
}

#[test]
fn the_readme_names_every_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (readme, mut examples) = (fs::read_to_string(root.join("README.md")).unwrap(), Vec::new());
    collect(&root.join("examples"), &mut examples);
    assert!(examples.len() >= 10, "{examples:?}");
    let names = examples.iter().map(|file| file.file_stem().unwrap().to_str().unwrap());
    let (_, list) = readme.split_once("The programs in `examples/`").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let missing: Vec<_> = names.filter(|name| !list.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Samples that break one rule each: the checker must name every one.
mod known_bad {
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        Source::new(path, text).faults()
    }

    #[test]
    fn what_is_allowed_passes() {
        let word = "use crate::sync::{AtomicU64, Ordering};\nuse crate::{nanos::Nanos, gcra};\n";
        assert_eq!(faults("word.rs", word), [""; 0]);
        assert_eq!(
            faults("bucket/charge.rs", "use crate::bucket::Bucket;\nuse super::Part;\nuse crate::word;"),
            [""; 0]
        );
        assert_eq!(
            faults("gcra.rs", "// crate::bucket, 1.5, loom\n/// [`crate::bucket`]\nfn f() -> u64 { 1 }"),
            [""; 0]
        );
        assert_eq!(faults("gcra.rs", "const A: &str = \"crate::bucket \\\" 1.5 loom\";"), [""; 0]);
        assert_eq!(faults("quota/mod.rs", "macro_rules! q { () => { $crate::Quota } }"), [""; 0]);
        assert_eq!(
            faults(
                "gcra.rs",
                "#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::bucket;\n}\nfn f() {}"
            ),
            [""; 0]
        );
        assert_eq!(faults("sync.rs", "pub(crate) use loom::sync::atomic;"), [""; 0]);
        assert_eq!(faults("quota/text.rs", "match n { 0..1_000 => 1, _ => pair.0 }"), [""; 0]);
    }

    #[test]
    fn an_import_that_points_up_or_sideways_is_caught() {
        let bad = [
            ("gcra.rs", "use crate::bucket::Bucket;"),
            ("gcra.rs", "fn f() { crate::word::g() }"),
            ("nanos.rs", "use crate::sync;"),
            ("decision.rs", "use crate::{nanos::Nanos, quota};"),
            ("clock/manual.rs", "use crate::{\n    sync::{AtomicU64, Ordering},\n    word,\n};"),
            ("word.rs", "use crate::Bucket;"),
            ("word.rs", "use super::bucket;"),
            ("bucket/charge.rs", "use super::super::keyed;"),
            ("quota/mod.rs", "use super::gcra;"),
            ("gcra.rs", "#[cfg(test)]\nmod tests {\n}\nuse crate::bucket;"),
            ("gcra.rs", "#[cfg(test)]\nmod tests;\nuse crate::bucket;"),
            ("gcra.rs", "#[cfg(all(test, not(loom)))]\nuse crate::word;\nuse crate::bucket;"),
            ("gcra.rs", "#[cfg(feature = \"std\")]\nuse crate::bucket;"),
            ("gcra.rs", "const A: &str = \"\\\\\"; use crate::bucket;"),
        ];
        for (path, text) in bad {
            assert_eq!(faults(path, text).len(), 1, "{path}: {text}: {:?}", faults(path, text));
        }
    }

    #[test]
    fn a_checker_a_float_and_a_long_file_are_caught() {
        assert_eq!(faults("word.rs", "#[cfg(loom)]\nuse loom::thread;").len(), 1);
        assert_eq!(faults("bucket/mod.rs", "#[cfg(not(shuttle))]\nconst A: u8 = 1;").len(), 1);
        assert_eq!(faults("gcra.rs", "fn f(x: f64) {}").len(), 1);
        assert_eq!(faults("axis.rs", "const A: u64 = 1.5 as u64;").len(), 1);
        assert_eq!(faults("window/mod.rs", "fn f(x: f64) {}"), [""; 0], "only the core has no floats");
        assert_eq!(faults("gcra.rs", &"const A: u8 = 1;\n".repeat(401)).len(), 1);
        assert_eq!(faults("gcra.rs", &"const A: u8 = 1;\n".repeat(400)), [""; 0]);
        assert_eq!(faults("cellar.rs", "").len(), 1, "a room without a floor");
    }
}

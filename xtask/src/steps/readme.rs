//! The README, as someone does it who has just cloned the repository: every command and every program in it.
//!
//! All happens in a folder outside of the repository that holds nothing but a copy of it, called `tollgate`.
//! Each block of commands begins in that folder, and runs line by line. Then each block of Rust becomes the
//! program of the package that the commands have made.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::process::Run;
use crate::project;
use crate::report::{Outcome, passed_with};
use crate::tree;

const PAGE: &str = "README.md";

/// The package that the README makes for its programs.
const PACKAGE: &str = "limited";

/// What is a step of CI by itself.
const ELSEWHERE: &[(&str, &str)] =
    &[("cargo xtask test", "the steps `doctests`, `test-members` and `coverage` run all of it")];

/// A command that takes longer than that is no good first impression.
const LIMIT: Duration = Duration::from_secs(600);

/// A block between fences.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    language: String,
    lines: Vec<String>,
}

/// Someone with a clone and an empty folder around it.
struct Reader {
    folder: PathBuf,
}

pub(crate) fn run(_: &[String]) -> Outcome {
    let page = fs::read_to_string(project::root().join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let blocks = blocks(&page)?;
    if let Some((stale, _)) = ELSEWHERE.iter().find(|(command, _)| !page.lines().any(|line| line == *command))
    {
        return Err(format!("{PAGE} has no command `{stale}` any more"));
    }
    if let Some(page) = unshown()? {
        return Err(format!(
            "docs/{page} has Rust code, but src/lib.rs does not include it, so no test compiles it"
        ));
    }
    let reader = Reader::begin()?;
    let mut times = Vec::new();
    for block in blocks.iter().filter(|block| block.language == "sh") {
        reader.types(block, &mut times)?;
    }
    for block in blocks.iter().filter(|block| block.language == "rust") {
        times.push(reader.compiles(block)?);
    }
    reader.ends()?;
    println!();
    times.iter().for_each(|(what, time)| println!("{:>7.1} s  {what}", time.as_secs_f64()));
    passed_with(format!("{} commands and programs", times.len()))
}

/// Every block has a language that can be run here, or is text.
fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else { continue };
        let inside = lines.by_ref().take_while(|line| line.trim() != "```");
        blocks.push(Block { language: language.to_owned(), lines: inside.map(str::to_owned).collect() });
    }
    match blocks.iter().find(|block| !["rust", "sh", "text"].contains(&block.language.as_str())) {
        Some(unknown) => Err(format!("{PAGE}: nothing here can run a block of `{}`", unknown.language)),
        None => Ok(blocks),
    }
}

/// A page in `docs/` with code that is no documentation of the crate, and so not one of its tests.
fn unshown() -> Result<Option<String>, String> {
    let failed = |error: std::io::Error| format!("docs: {error}");
    let library = fs::read_to_string(project::root().join("src/lib.rs")).map_err(failed)?;
    for page in fs::read_dir(project::root().join("docs")).map_err(failed)? {
        let page = page.map_err(failed)?;
        let name = page.file_name().to_string_lossy().into_owned();
        let is_included = library.contains(&format!("include_str!(\"../docs/{name}\")"));
        if name.ends_with(".md")
            && !is_included
            && fs::read_to_string(page.path()).map_err(failed)?.contains("```rust")
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

impl Reader {
    /// The folder has a name of its own for each repository, and always the same, so that what cargo has
    /// built for it the last time is of use.
    fn begin() -> Result<Self, String> {
        let mut hasher = DefaultHasher::new();
        project::root().hash(&mut hasher);
        let folder = env::temp_dir().join(format!("tollgate-readme-{:016x}", hasher.finish()));
        let reader = Self { folder };
        reader.clear()?;
        tree::fresh_copy(&reader.folder.join("tollgate"))?;
        reader.write("requests.csv", &requests())?;
        Ok(reader)
    }

    /// Leaves nothing behind. After a failure the folder stays, to be looked at, until the next time.
    fn ends(self) -> Result<(), String> {
        self.clear()
    }

    fn clear(&self) -> Result<(), String> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if self.folder.exists() => Err(format!("{}: {error}", self.folder.display())),
            _ => Ok(()),
        }
    }

    fn write(&self, file: &str, text: &str) -> Result<(), String> {
        fs::write(self.folder.join(file), text).map_err(|error| format!("{file}: {error}"))
    }

    /// Types the commands of a block, one after the other.
    fn types(&self, block: &Block, times: &mut Vec<(String, Duration)>) -> Result<(), String> {
        let mut here = self.folder.clone();
        for line in block.lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
            if let Some((_, reason)) = ELSEWHERE.iter().find(|(command, _)| *command == line) {
                println!("SKIP  {line}: {reason}");
            } else if let Some(folder) = line.strip_prefix("cd ") {
                here.push(folder);
            } else {
                times.push((line.to_owned(), self.timed(line, &here)?));
            }
        }
        Ok(())
    }

    /// Makes the block the program of the package, as the documentation's tests do, and runs it.
    fn compiles(&self, block: &Block) -> Result<(String, Duration), String> {
        let mut program = "fn main() {\n".to_owned();
        for line in block.lines.iter().map(|line| line.strip_prefix("# ").unwrap_or(line)) {
            let _ = writeln!(program, "{line}");
        }
        program.push_str("}\n");
        self.write(&format!("{PACKAGE}/src/main.rs"), &program)?;
        let time = self.timed("cargo run --quiet", &self.folder.join(PACKAGE))?;
        let first = block.lines.first().map(String::as_str).unwrap_or_default();
        Ok((format!("the program that begins with `{first}`"), time))
    }

    fn timed(&self, line: &str, here: &Path) -> Result<Duration, String> {
        let installed = self.folder.join("installed");
        let found = env::var("PATH").unwrap_or_default();
        let started = Instant::now();
        Run::new("sh")
            .arg("-c")
            .arg(line)
            .folder(here)
            .target_of("readme")
            .tuned("PATH", &format!("{}:{found}", installed.join("bin").display()))
            .tuned("CARGO_INSTALL_ROOT", &installed.to_string_lossy())
            // Nobody measures anything here, and all else is to be built in this time.
            .tuned("CARGO_PROFILE_RELEASE_LTO", "off")
            .tuned("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
            .tuned("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
            .tuned("CARGO_PROFILE_DEV_DEBUG", "none")
            .limit(LIMIT)
            .run()?;
        Ok(started.elapsed())
    }
}

/// A trace of one's own, which a reader has and CI has not: two thousand requests in some minutes, now and
/// then a few at once.
fn requests() -> String {
    let mut millis = 0_u64;
    let row = |n: u64| {
        millis += if n % 10 < 4 { 5 } else { 40 + n * 7919 % 400 };
        format!("{millis},{}\n", 100 + n * 104_729 % 1900)
    };
    format!("time_ms,tokens\n{}", (0..2000).map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_with_their_languages() {
        let found =
            blocks("text\n\n```sh\nls\n\n# a comment\n```\nmore\n```rust\nlet x = 1;\n```\n").unwrap();
        let block = |language: &str, lines: &[&str]| Block {
            language: language.to_owned(),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        assert_eq!(found, [block("sh", &["ls", "", "# a comment"]), block("rust", &["let x = 1;"])]);
    }

    #[test]
    fn a_block_that_cannot_be_run_is_an_error() {
        assert!(blocks("```python\nprint(1)\n```\n").unwrap_err().contains("python"));
        assert!(blocks("```\nls\n```\n").is_err());
    }
}

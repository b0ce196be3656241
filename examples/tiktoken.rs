//! A tokenizer counts what a request will send; cheap counts come close, and a calibrated one closer.
//!
//!     cargo run --release --example tiktoken --features budget
//!
//! The encodings are part of the crate `tiktoken-rs`: nothing is downloaded. The table that this prints is the one in the
//! docs of `BytesPerToken`.

use tollgate::budget::{BytesPerToken, Calibrated, CharsPerToken, CountTokens};

/// The first articles of the Universal Declaration of Human Rights, and files of the crate.
const TEXTS: [(&str, &str); 9] = [
    (
        "English",
        "All human beings are born free and equal in dignity and rights. They are endowed with reason and \
        conscience and should act towards one another in a spirit of brotherhood. Everyone is entitled to all the rights \
        and freedoms set forth in this Declaration, without distinction of any kind, such as race, colour, sex, language, \
        religion, political or other opinion, national or social origin, property, birth or other status.",
    ),
    (
        "German",
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen \
        begabt und sollen einander im Geist der Brüderlichkeit begegnen. Jeder hat Anspruch auf die in dieser Erklärung \
        verkündeten Rechte und Freiheiten ohne irgendeinen Unterschied, etwa nach Rasse, Hautfarbe, Geschlecht, Sprache, \
        Religion, politischer oder sonstiger Überzeugung, nationaler oder sozialer Herkunft, Vermögen, Geburt oder \
        sonstigem Stand.",
    ),
    (
        "Russian",
        "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и \
        должны поступать в отношении друг друга в духе братства. Каждый человек должен обладать всеми правами и всеми \
        свободами, провозглашенными настоящей Декларацией, без какого бы то ни было различия.",
    ),
    (
        "Chinese",
        "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。人人有资格享有本宣言所载\
        的一切权利和自由，不分种族、肤色、性别、语言、宗教、政治或其他见解、国籍或社会出身、财产、出生或其他身份等任何区别。",
    ),
    (
        "Japanese",
        "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けら\
        れており、互いに同胞の精神をもって行動しなければならない。",
    ),
    ("Licence", include_str!("../LICENSE-APACHE")),
    ("Rust", include_str!("joint.rs")),
    (
        "JSON",
        r#"{"model":"large","messages":[{"role":"user","content":[{"type":"text","text":"What is the weather in Paris?"}]}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}],"max_completion_tokens":1024}"#,
    ),
    (
        "Digits",
        "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214",
    ),
];

fn main() {
    // The tokenizer is a counter as it is.
    let exact = |text: &str| tiktoken_rs::o200k_base_singleton().count_ordinary(text) as u64;
    let (chars, bytes) = (CharsPerToken::default(), BytesPerToken::default());

    println!("| text | tokens | characters / 3.5 | bytes / 4 |");
    println!("|---|---|---|---|");
    for (kind, text) in TEXTS {
        let tokens = exact.count(text);
        let [chars, bytes] = [chars.count(text), bytes.count(text)].map(|count| off(count, tokens));
        println!("| {kind} | {tokens} | {chars} | {bytes} |");
    }

    // What one kind of text is off by is learned from the usage that comes back: here from the first half of one.
    let calibrated = Calibrated::<String>::new(100);
    let (kind, text) = TEXTS[3];
    let (seen, unseen) = text.split_at(text.find("人人有").expect("it is there"));
    for part in seen.split_inclusive(['，', '。']) {
        calibrated.observe(kind, chars.count(part), exact.count(part));
    }
    calibrated.observe(kind, chars.count(seen), exact.count(seen));
    let (counted, tokens) = (chars.count(unseen), exact.count(unseen));
    let corrected = calibrated.estimate(kind, counted);
    println!("\n{kind}, the other half: counted {counted}, calibrated {corrected}, in fact {tokens}");
    assert!(corrected.abs_diff(tokens) < counted.abs_diff(tokens));
}

/// By how much a count is off, in percent, away from zero.
fn off(count: u64, tokens: u64) -> String {
    let percent = (count.abs_diff(tokens) * 100).div_ceil(tokens);
    format!("{}{percent} %", if count < tokens { "-" } else { "+" })
}

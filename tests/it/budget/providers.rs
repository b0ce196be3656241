//! Usage as it stands in the providers' answers, read into one form and charged to each provider's limits.

use serde_json::{Value, json};
use tollgate::budget::{Ratio, Reported, Shape, Side, TokenClass, Usage, Weights};

use super::ratio;

fn figure(report: &Value, path: &str) -> Option<u64> {
    report.pointer(path).and_then(Value::as_u64)
}

fn openai_chat(answer: &Value) -> Usage {
    Shape::OPENAI.usage(&Reported {
        input: figure(answer, "/usage/prompt_tokens"),
        cache_read: figure(answer, "/usage/prompt_tokens_details/cached_tokens"),
        cache_write: figure(answer, "/usage/prompt_tokens_details/cache_write_tokens"),
        output: figure(answer, "/usage/completion_tokens"),
        reasoning: figure(answer, "/usage/completion_tokens_details/reasoning_tokens"),
        ..Reported::default()
    })
}

fn anthropic(usage: &Value) -> Usage {
    Shape::ANTHROPIC.usage(&Reported {
        input: figure(usage, "/input_tokens"),
        cache_read: figure(usage, "/cache_read_input_tokens"),
        cache_write: figure(usage, "/cache_creation/ephemeral_5m_input_tokens"),
        cache_write_long: figure(usage, "/cache_creation/ephemeral_1h_input_tokens"),
        output: figure(usage, "/output_tokens"),
        ..Reported::default()
    })
}

#[test]
fn openai_counts_its_total_and_a_cut_stream_tells_nothing() {
    let last = json!({"choices": [], "usage": {
        "prompt_tokens": 1200, "completion_tokens": 300, "total_tokens": 1500,
        "prompt_tokens_details": {"cached_tokens": 1024},
        "completion_tokens_details": {"reasoning_tokens": 128}
    }});
    let usage = openai_chat(&last);
    assert_eq!(Weights::TOTAL.cost(&usage).ok(), figure(&last, "/usage/total_tokens"));
    let classes = [TokenClass::Input, TokenClass::CacheRead, TokenClass::Output, TokenClass::Reasoning];
    assert_eq!(classes.map(|class| usage.tokens(class)), [176, 1024, 172, 128].map(Some));
    assert_eq!(
        Weights::GROQ.cost(&usage),
        Ok(476),
        "the same form at Groq, where cached tokens do not count"
    );

    let chunk = json!({"choices": [{"delta": {"content": "Hello"}}], "usage": null});
    assert_eq!(openai_chat(&chunk), Usage::default());
    assert_eq!(Weights::TOTAL.cost(&openai_chat(&chunk).or(&Usage::new(1_100, 2_000))), Ok(3_100));
}

#[test]
fn anthropic_tells_input_at_the_start_and_output_cumulatively() {
    let start = json!({"input_tokens": 20, "cache_read_input_tokens": 5_000, "output_tokens": 1, "cache_creation":
        {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 100}});
    let deltas = [json!({"output_tokens": 40}), json!(null), json!({"output_tokens": 95})];
    let usage = deltas.iter().fold(anthropic(&start), |told, delta| anthropic(delta).or(&told));
    assert_eq!(Weights::ANTHROPIC_INPUT.cost(&usage), Ok(520));
    assert_eq!(Weights::INPUT.cost(&usage), Ok(5_520), "models that count cache reads");
    assert_eq!(Weights::OUTPUT.cost(&usage), Ok(95));
    // 20 + 500 + 500 + 200
    assert_eq!(Weights::ANTHROPIC_PRIORITY_INPUT.cost(&usage), Ok(1_220));
    let us_only = Weights::ANTHROPIC_PRIORITY_INPUT.times(ratio(11, 10)).unwrap();
    assert_eq!(us_only.cost(&usage), Ok(1_342));
}

#[test]
fn gemini_counts_its_prompt_and_reports_thoughts_beside_the_answer() {
    let metadata = json!({"promptTokenCount": 900, "cachedContentTokenCount": 600,
        "candidatesTokenCount": 50, "thoughtsTokenCount": 700, "totalTokenCount": 1650});
    let usage = Shape::GEMINI.usage(&Reported {
        input: figure(&metadata, "/promptTokenCount"),
        cache_read: figure(&metadata, "/cachedContentTokenCount"),
        output: figure(&metadata, "/candidatesTokenCount"),
        reasoning: figure(&metadata, "/thoughtsTokenCount"),
        ..Reported::default()
    });
    assert_eq!(Weights::INPUT.cost(&usage), Ok(900));
    assert_eq!(Weights::TOTAL.cost(&usage).ok(), figure(&metadata, "/totalTokenCount"));
    assert_eq!(usage.total(Side::Output), Some(750));
}

#[test]
fn bedrock_reserves_the_cap_and_settles_with_a_burn_down() {
    let told = json!({"inputTokens": 300, "cacheReadInputTokens": 2_000, "cacheWriteInputTokens": 150, "outputTokens": 80});
    let usage = Shape::BEDROCK.usage(&Reported {
        input: figure(&told, "/inputTokens"),
        cache_read: figure(&told, "/cacheReadInputTokens"),
        cache_write: figure(&told, "/cacheWriteInputTokens"),
        output: figure(&told, "/outputTokens"),
        ..Reported::default()
    });
    let admission = usage.with(TokenClass::Output, 4_096);
    assert_eq!(Weights::TOTAL.cost(&admission), Ok(300 + 2_000 + 150 + 4_096));
    assert_eq!(Weights::bedrock(ratio(5, 1)).cost(&usage), Ok(300 + 150 + 5 * 80));
    assert_eq!(Weights::bedrock(Ratio::ONE).cost(&usage), Ok(300 + 150 + 80));
}

//! The status page, as a browser renders it.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use super::support::{Gateway, still};

/// The texts of all elements with a figure, by its path.
fn figures(page: &str) -> BTreeMap<String, u64> {
    let marked = page.split("data-figure=\"").skip(1);
    let figure = |element: &str| {
        let (path, rest) = element.split_once("\">").unwrap();
        let number = rest.split_once('<').unwrap().0.replace(',', "");
        let path = path.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        (path.clone(), number.parse().unwrap_or_else(|_| panic!("{path}: {number}")))
    };
    // Before the script has run there is only its own text.
    marked.filter(|element| !element.starts_with("${")).map(figure).collect()
}

/// The figures of the API under the same paths.
fn told(status: &Value) -> BTreeMap<String, u64> {
    let mut told = BTreeMap::new();
    let mut put = |path: String, fields: &Value| {
        for (what, value) in fields.as_object().unwrap() {
            value.as_u64().and_then(|value| told.insert(format!("{path}.{what}"), value));
        }
    };
    for list in ["tenants", "allowances", "upstreams", "runs"] {
        for entry in status[list].as_array().unwrap() {
            let name = entry["name"].as_str().unwrap();
            let owner = entry["tenant"].as_str().map_or(String::new(), |tenant| format!("{tenant}/"));
            put(format!("{list}.{owner}{name}"), entry);
        }
    }
    put("batch".to_owned(), &status["batch"]);
    put("tokens".to_owned(), &status["tokens"]);
    told
}

/// Headless Chromium, or whatever goes by its name. `None` where there is none.
fn chromium(arguments: &[&str], url: &str) -> Option<String> {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(arguments)
        .arg(url)
        .output();
    match output {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) => {
            eprintln!(
                "SKIP  chromium: {error}: the page is not rendered (`cargo xtask ci tools` installs it)"
            );
            None
        }
    }
}

#[tokio::test]
async fn the_page_shows_what_the_api_tells() {
    let (settings, allowances) = still();
    // Some of all is held for nobody.
    let settings = settings.replace("share = 20", "share = 12").replace("gap_ms=25", "gap_ms=600000");
    let gateway = Gateway::with(&settings, &allowances);
    // Streams under way, a run, a debt, a refusal, and batch work that was served.
    let _open = [
        gateway.call("chat", 1000).send().await.unwrap(),
        gateway.call("agents", 10).header("x-run", "a <b>").send().await.unwrap(),
        gateway.call("nightly", 10).header("x-batch", "1").send().await.unwrap(),
    ];
    let one_piece =
        r#"{"model":"large","messages":[{"content":"12345678"}],"metadata":{"output_tokens":"3000"}}"#;
    let paid_late = gateway.call("chat", 0).body(one_piece).send().await.unwrap();
    assert!(paid_late.status().is_success());
    paid_late.text().await.unwrap();
    let refused = gateway.call("chat", 0).body(one_piece).header("x-deadline-ms", "0").send().await.unwrap();
    assert_eq!(refused.status(), 429);

    let before = gateway.status().await;
    let url = format!("{}/", gateway.url);
    let Some(page) = chromium(&["--virtual-time-budget=3000", "--dump-dom"], &url) else { return };
    let (shown, mut told) = (figures(&page), told(&gateway.status().await));
    assert_eq!(before, gateway.status().await, "it stood still");
    let sum = |list: &str, what: &str| -> u64 {
        before[list].as_array().unwrap().iter().map(|one| one[what].as_u64().unwrap()).sum()
    };
    told.insert("sum.in_flight".to_owned(), sum("tenants", "in_flight"));
    told.insert("sum.refused".to_owned(), sum("tenants", "refused"));
    told.insert("sum.upstream_refused".to_owned(), sum("upstreams", "refused"));
    // The page leaves two figures to the rows.
    told.retain(|path, _| path != "tokens.debt" && path != "tokens.used" && path != "tokens.limit");
    assert_eq!(shown, told);
    for (path, least) in [
        ("tenants.chat.in_flight", 1),
        ("tenants.chat.refused", 1),
        ("allowances.large.debt", 1000),
        ("allowances.streams.in_flight", 3),
        ("batch.served", 1),
        ("runs.agents/a <b>.calls_left", 1),
    ] {
        assert!(shown.get(path).is_some_and(|value| *value >= least), "{path}: {:?}", shown.get(path));
    }
    // Before the script has run it says something else, and on an error it has a class.
    assert!(page.contains(r#"<span id="state" class="">live</span>"#), "the page says that it is");
}

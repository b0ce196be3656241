-- API keys, whose they are, and how many tokens they may spend. A real one is kept where secrets are kept.
return {
    ["key-of-acme"] = { name = "acme", quota = "1k/s burst 5k" },
    ["other-key-of-acme"] = { name = "acme", quota = "1k/s burst 5k" },
    ["key-of-globex"] = { name = "globex", quota = "100/s burst 500" },
}

//! A typed fan-out: 20 children review 20 files side by side, and each answers with a `Review`.
//!
//! Run it with `cargo run -p offshoot --example fan_out`. The model is a function, so it needs no key and
//! no network; `openai_chat(…)` and `default_model("openai-chat/NAME")` ask a real one.

#![expect(clippy::print_stdout, reason = "an example shows its answer")]

use futures_util::future::try_join_all;
use offshoot::types::model::RequestMessage;
use offshoot::{Error, FnModel, Manifest, Mode, Reply, Request, Runtime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a reviewer answers with. Models read the comments of its fields.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Review {
    /// The path of the file, as it was given.
    file: String,
    /// How risky a change of the file is, from 0 to 10.
    risk: u8,
}

/// Plays the model: the longer the path, the riskier the file.
fn review(request: &Request) -> Reply {
    let Some(RequestMessage::User(text)) = request.messages.last() else {
        return Reply::text("There is nothing to review.");
    };
    let file = text.split_whitespace().nth(1).unwrap_or_default();
    let risk = u8::try_from(file.len() % 11).unwrap_or_default();
    Reply::value(&Review {
        file: file.to_owned(),
        risk,
    })
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let model = FnModel::new(|request| async move { Ok(review(&request)) });
    let runtime = Runtime::builder()
        .model("demo/review", model)
        .agent(Manifest::new(
            "reviewer",
            Mode::Subagent,
            "Review one file.",
        ))
        .build()?;
    let host = runtime.host().await?;
    let root = host.session().root();

    let files = (1..=20).map(|n| format!("src/part_{n}.rs"));
    let reviews = files.map(|file| {
        root.spawn("reviewer")
            .prompt(format!("Review {file}"))
            .ask()
    });
    let mut reviews: Vec<Review> = try_join_all(reviews).await?;

    reviews.sort_by_key(|review| review.risk);
    for Review { file, risk } in &reviews {
        println!("{risk:>2} {file}");
    }
    Ok(())
}

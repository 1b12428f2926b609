//! A program that is killed and resumed without loss: it counts to three, one prompt each.
//!
//! `cargo run -p offshoot --example resume -- FOLDER` works in a session that is kept in FOLDER. Kill it
//! (`kill -9`, Ctrl-C) whenever you like and start it again: it finds its session by the id, and goes on
//! behind the last prompt that was answered. What was under way is settled as lost, and is asked again.

#![expect(clippy::print_stdout, reason = "an example shows its answer")]

use std::time::Duration;

use offshoot::types::transcript::Item;
use offshoot::{Error, FnModel, Manifest, Mode, Reply, Runtime, Status};

const SESSION: &str = "counting";

#[tokio::main]
async fn main() -> Result<(), Error> {
    let folder = std::env::args_os().nth(1);
    let folder = folder.ok_or_else(|| Error::Invalid("name a folder".to_owned()))?;
    // Plays a slow model, so that there is time to kill it.
    let model = FnModel::new(|request| async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        Ok(Reply::text(format!(
            "after {} messages",
            request.messages.len()
        )))
    });
    let runtime = Runtime::builder()
        .data_dir(folder)
        .model("demo/slow", model)
        .agent(Manifest::new("clerk", Mode::Primary, "Count."))
        .build()?;
    let session = match runtime.find(SESSION).await {
        Err(Error::Unknown(_)) => runtime.new_session().id(SESSION).open("clerk").await?,
        found => found?,
    };

    let talk = session.root().conversation().await?;
    let answered = talk
        .items()
        .iter()
        .filter(|item| matches!(item, Item::Assistant(_)));
    for n in answered.count() + 1..=3 {
        println!("asks {n}");
        let settlement = session.run(n.to_string()).await?;
        if settlement.status != Status::Completed {
            return Err(Error::Unfinished(Box::new(settlement)));
        }
        println!("{n}: {}", settlement.output.unwrap_or_default());
    }
    println!("done");
    Ok(())
}

//! Five lines to an answer, from the model `offline`, which needs no key and no network.
//!
//! Run it in the folder that you want to know about: `cargo run -p offshoot --example five_lines`

#![expect(clippy::print_stdout, reason = "an example shows its answer")]

use offshoot::{Error, Runtime};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let builder = Runtime::builder().default_model("offline").file_tools();
    let runtime = builder.workspace(".").build()?;
    let session = runtime.open("build").await?;
    let settlement = session.run("Survey this repository").await?;
    println!("{}", settlement.output.unwrap_or_default());
    Ok(())
}

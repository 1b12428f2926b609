//! How long a megabyte of small deltas takes from bytes to chunks.
//!
//! Parser, decoder and stream, without a network: a transport hands out the
//! bytes from memory, in pieces like those of a socket and in small ones.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures_core::future::BoxFuture;
use futures_util::{StreamExt, stream};
use offshoot_models::{
    HttpRequest, HttpResponse, OpenAiChat, OpenAiChatSettings, Transport, TransportError,
};
use offshoot_types::cancel::Cancel;
use offshoot_types::id::AgentId;
use offshoot_types::model::{Asker, Model, Models, Request, RequestMessage, ToolChoice};
use tokio::runtime::Builder;

/// Answers every request with the same pieces.
struct Memory(Vec<Bytes>);

impl Transport for Memory {
    fn send(&self, _: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let pieces = self.0.clone();
        Box::pin(async {
            Ok(HttpResponse {
                status: 200,
                headers: Vec::new(),
                body: stream::iter(pieces.into_iter().map(Ok)).boxed(),
            })
        })
    }
}

/// A stream of a megabyte, as OpenAI's server writes it.
fn deltas() -> String {
    let delta = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}"#;
    let count = 1024 * 1024 / delta.len();
    let mut text = format!("{delta}\n\n").repeat(count);
    text.push_str("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
    text.push_str("data: [DONE]\n\n");
    text
}

fn model(text: &str, piece_bytes: usize) -> Arc<dyn Model> {
    let pieces = text.as_bytes().chunks(piece_bytes);
    let memory = Memory(pieces.map(Bytes::copy_from_slice).collect());
    let settings = OpenAiChatSettings {
        base_url: "http://localhost/v1".to_owned(),
        ..OpenAiChatSettings::default()
    };
    OpenAiChat::new(settings, Arc::new(memory))
        .find("m")
        .unwrap()
}

fn request() -> Request {
    Request {
        from: Asker {
            agent: AgentId::new("a"),
            definition: "build".to_owned(),
            depth: 0,
            step: 1,
        },
        model: "m".to_owned(),
        system: Arc::from(""),
        tools: Arc::from([]),
        choice: ToolChoice::Auto,
        messages: vec![RequestMessage::User("x".into())],
        images: offshoot_types::model::Images::default(),
        temperature: None,
        effort: None,
        max_output_tokens: None,
    }
}

fn a_megabyte_of_deltas(criterion: &mut Criterion) {
    let text = deltas();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let mut group = criterion.benchmark_group("a_megabyte_of_deltas");
    group.throughput(Throughput::Bytes(text.len() as u64));
    for piece_bytes in [16, 16 * 1024] {
        let model = model(&text, piece_bytes);
        group.bench_function(BenchmarkId::from_parameter(piece_bytes), |bencher| {
            bencher.iter(|| {
                let chunks = model.stream(request(), Cancel::never()).count();
                black_box(runtime.block_on(chunks))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, a_megabyte_of_deltas);
criterion_main!(benches);

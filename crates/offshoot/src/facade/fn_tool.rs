//! A tool that is a function.
//!
//! Arguments and answer are types of the author's; what models are told of the arguments is a JSON
//! Schema beside them, which the engine holds calls against before they get here. A function sees
//! its arguments and nothing else: who needs the workspace or the signal to stop writes a `Tool`.

use std::fmt::Display;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use offshoot_types::json::RawJson;
use offshoot_types::outcome::{ErrorKind, Outcome};
use offshoot_types::permission::Need;
use offshoot_types::tool::{Effect, Place, Tool, ToolSpec, Work};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A tool that is a function of arguments `A`.
///
/// It is taken to change something, unless [`reads`](Self::reads) says otherwise, and needs no
/// permission, unless [`needs`](Self::needs) says which. A call that is cancelled is dropped where it
/// awaits.
pub struct FnTool<A> {
    spec: ToolSpec,
    needs: Vec<NeedOf<A>>,
    run: Run<A>,
}

/// What a call needs, found in its arguments.
type NeedOf<A> = Box<dyn Fn(&A) -> Need + Send + Sync>;

/// The function, with its types gone.
type Run<A> = Arc<dyn Fn(A) -> BoxFuture<'static, Outcome> + Send + Sync>;

impl<A: DeserializeOwned + Send + 'static> FnTool<A> {
    /// Makes a tool of a function.
    ///
    /// `parameters` is the JSON Schema of its arguments. An error is an answer: its text is what the
    /// model reads.
    pub fn new<R, E, F, Fut>(
        id: impl Into<String>,
        description: impl Into<String>,
        parameters: &Value,
        function: F,
    ) -> Self
    where
        R: Serialize,
        E: Display,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, E>> + Send + 'static,
    {
        let run = move |arguments| {
            let answer = function(arguments);
            let outcome = async move { outcome(answer.await) };
            Box::pin(outcome) as BoxFuture<'static, Outcome>
        };
        Self {
            spec: ToolSpec::new(id, description, parameters, Effect::Write),
            needs: Vec::new(),
            run: Arc::new(run),
        }
    }

    /// Makes a tool of a function, and its JSON Schema of the type of its arguments.
    pub fn typed<R, E, F, Fut>(
        id: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        A: JsonSchema,
        R: Serialize,
        E: Display,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, E>> + Send + 'static,
    {
        Self::new(id, description, &schema_of::<A>(), function)
    }

    /// Says that it only looks: its calls run side by side, and agents that are read-only have it.
    #[must_use]
    pub fn reads(mut self) -> Self {
        self.spec.effect = Effect::Read;
        self
    }

    /// Says that a call needs a capability, such as `net.fetch`, for a target that its arguments name.
    #[must_use]
    pub fn needs(
        mut self,
        capability: &str,
        target: impl Fn(&A) -> String + Send + Sync + 'static,
    ) -> Self {
        let capability = capability.to_owned();
        self.needs.push(Box::new(move |arguments| Need {
            capability: capability.clone(),
            target: target(arguments),
        }));
        self
    }

    fn read(&self, arguments: &RawJson) -> Result<A, String> {
        let read = arguments.read();
        read.map_err(|error| format!("the arguments of {}: {error}", self.spec.id))
    }
}

impl<A: DeserializeOwned + Send + 'static> Tool for FnTool<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn needs(&self, arguments: &RawJson, _place: &Place) -> Result<Vec<Need>, String> {
        let arguments = self.read(arguments)?;
        Ok(self.needs.iter().map(|need| need(&arguments)).collect())
    }

    fn run(&self, work: Work) -> BoxFuture<'static, Outcome> {
        let read = self.read(&work.arguments);
        let run = self.run.clone();
        Box::pin(async move {
            let arguments = match read {
                Ok(arguments) => arguments,
                Err(text) => return Outcome::error(ErrorKind::InvalidInput, text),
            };
            tokio::select! {
                biased;
                () = work.cancel.cancelled() => {
                    Outcome::error(ErrorKind::Cancelled, "the call was cancelled")
                }
                outcome = run(arguments) => outcome,
            }
        })
    }
}

/// Returns the JSON Schema of a type as models are shown it: whole, without references, because some
/// providers resolve none.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The name of a Rust type says nothing to a model.
    schema.remove("title");
    schema.to_value()
}

fn outcome(answer: Result<impl Serialize, impl Display>) -> Outcome {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Outcome::error(ErrorKind::Failed, error.to_string()),
    };
    match serde_json::to_string(&answer).and_then(RawJson::parse) {
        Ok(data) => Outcome::output(data),
        // Such as a map whose keys are no texts: the author's bug, told where it is seen.
        Err(error) => Outcome::error(ErrorKind::Failed, format!("write the answer: {error}")),
    }
}

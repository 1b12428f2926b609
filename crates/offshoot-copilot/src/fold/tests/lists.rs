//! What is not compared between our events and the captured ones, and why.
//!
//! `docs/events.md` has the same for readers. A field of a capture that stands in
//! no list is compared.

/// Type of event, its fields, why.
pub(super) type Fields = &'static [(&'static str, &'static str, &'static str)];

/// Events that we do not give.
pub(super) const LEFT_OUT_EVENTS: &[(&str, &str)] = &[
    (
        "session.managed_settings_resolved",
        "policies of that vendor",
    ),
    ("session.skills_loaded", "there are no skills yet"),
    ("session.mcp_servers_loaded", "there is no MCP yet"),
    (
        "session.tools_updated",
        "says no more than that a session has a model",
    ),
    ("session.usage_info", "nothing knows a model's window yet"),
    ("session.info", "says in words what `abort` says"),
    ("session.shutdown", "is of a connection and not of the log"),
    (
        "system.message",
        "the request is built from the manifest and not stored",
    ),
    ("agent.interrupted", "telemetry"),
    ("sandbox.decision", "telemetry"),
    ("hook.start", "there are no hooks yet"),
    ("hook.end", "there are no hooks yet"),
    (
        "external_tool.requested",
        "the logs beside the captures have tools of the host instead",
    ),
    (
        "external_tool.completed",
        "the logs beside the captures have tools of the host instead",
    ),
    (
        "tool.shell_output",
        "the text of `tool.execution_partial_result` again",
    ),
    ("assistant.streaming_delta", "counts what the deltas say"),
    (
        "assistant.tool_call_delta",
        "arguments do not come in pieces here",
    ),
];

/// Events that we give and that are no part of the log: tested in `live.rs`.
pub(super) const LIVE_EVENTS: &[&str] = &[
    "assistant.message_start",
    "assistant.message_delta",
    "tool.execution_partial_result",
];

/// Events without data that tell a client to look again: any number of them is right.
pub(super) const HINTS: &[&str] = &[
    "pending_messages.modified",
    "session.background_tasks_changed",
];

/// Fields that we do not give.
pub(super) const LEFT_OUT: Fields = &[
    (
        "session.start",
        "contextTier remoteSteerable alreadyInUse",
        "features of that vendor",
    ),
    (
        "session.model_change",
        "contextTier",
        "that vendor's prices",
    ),
    ("session.idle", "mode", "there are no modes here"),
    (
        "user.message",
        "transformedContent",
        "a prompt is sent as it is",
    ),
    (
        "user.message",
        "supportedNativeDocumentMimeTypes parentAgentTaskId",
        "says nothing that another field refers to",
    ),
    (
        "system.notification",
        "kind.displayName",
        "`task` takes no name for an agent",
    ),
    ("assistant.message", "rte apiCallId", "telemetry"),
    (
        "assistant.message",
        "toolRequests.toolTitle",
        "a command is not judged yet",
    ),
    (
        "assistant.usage",
        "modelDisplayName cost outputTtftMs interTokenLatencyMs isByok byokKind \
         modelProvider providerType isAuto maxPromptTokens transport requestBodyBytes \
         requestBodyWireBytes requestBodyEncoding apiCallId rte apiEndpoint \
         quotaSnapshots aiCreditsStatus availableToolCount toolTokenCount \
         customToolCallCount unmatchedToolResultCount orphanToolCallCount frontierSource \
         cacheDetailsReported numToolCalls toolCounts contentFilterTriggered accounting",
        "telemetry and accounting; prices are not known yet",
    ),
    (
        "tool.execution_start",
        "toolTitle shellToolInfo",
        "a command is not judged yet",
    ),
    ("tool.execution_complete", "rte toolTelemetry", "telemetry"),
    (
        "tool.execution_complete",
        "result.detailedContent result.contents",
        "the content again, and the exit code",
    ),
    (
        "permission.requested",
        "agentMode permissionMode",
        "there are no modes here",
    ),
    (
        "permission.requested",
        "permissionRequest.shellType permissionRequest.commandSegments",
        "a command is not judged yet",
    ),
    (
        "subagent.started",
        "taskModelSource modelSelectionSource resumable",
        "telemetry",
    ),
    (
        "subagent.completed",
        "firstDispatchedModel modelSelectionSource",
        "telemetry",
    ),
];

/// Fields that both give, and that cannot be the same.
pub(super) const DIFFERENT: Fields = &[
    (
        "session.start",
        "producer copilotVersion startTime context.cwd",
        "who, when, where",
    ),
    (
        "session.title_changed",
        "title",
        "the prompts are stage directions of the capture",
    ),
    (
        "user.message",
        "content",
        "the prompts are stage directions of the capture",
    ),
    (
        "system.notification",
        "content kind.description",
        "our words",
    ),
    ("assistant.usage", "duration timeToFirstTokenMs", "times"),
    ("tool.execution_complete", "error.message", "our words"),
    (
        "permission.requested",
        "permissionRequest.toolDescription promptRequest.toolDescription",
        "empty here: the log does not know what a tool says of itself",
    ),
    (
        "permission.requested",
        "permissionRequest.canOfferSessionApproval promptRequest.canOfferSessionApproval",
        "ours always can",
    ),
    (
        "permission.requested",
        "ownerSessionId",
        "theirs is an id that nothing else has; ours is the agent's",
    ),
    (
        "subagent.started",
        "agentDisplayName",
        "an agent has one name here",
    ),
    (
        "subagent.selected",
        "agentDisplayName",
        "an agent has one name here",
    ),
    (
        "subagent.completed",
        "agentDisplayName durationMs",
        "one name, and a time",
    ),
    (
        "subagent.configured",
        "multiTurn",
        "an agent can always be asked again here",
    ),
];

/// Fields that we give beyond the captures.
pub(super) const OURS: Fields = &[
    ("session.start", "agentName", "which agent the root is"),
    ("session.idle", "status reason", "how the root ended"),
    (
        "user.message",
        "delivery",
        "theirs is not there for agents that cannot be asked again",
    ),
    (
        "system.notification",
        "kind.outcome toolCallId subagent",
        "our word for it, the call, and what a call that waited is told",
    ),
    ("abort", "by", "who stopped it"),
    (
        "assistant.message",
        "outputTokens",
        "in the schema, not in the captures",
    ),
    (
        "tool.execution_complete",
        "durationMs error.kind permission truncated outputPath subagent",
        "ours",
    ),
    ("subagent.completed", "status reason", "our word for it"),
];

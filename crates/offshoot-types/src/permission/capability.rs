//! What an agent may need, apart from the tools it uses: a closed list.
//!
//! Tools may need things under names of their own, which are text to the chain;
//! what is listed here has targets of a known kind, or is personal.

use super::{Layer, Need};

/// What an agent may need, apart from the tool it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Reading a file.
    FsRead,
    /// Changing a file.
    FsWrite,
    /// Running a command.
    ShellRun,
    /// Running what cannot be seen through.
    ShellOpaque,
    /// Reaching a host.
    NetFetch,
    /// Calling a tool that a client of the session carries out.
    ClientTool,
    /// Having another agent go on.
    AgentSwitch,
    /// Using a secret of the user's.
    CredentialUse,
    /// Choosing where models are asked.
    ProviderEndpoint,
    /// Whatever needs a person who is there now.
    UserPresence,
}

impl Capability {
    /// All there are.
    pub const ALL: [Self; 10] = [
        Self::FsRead,
        Self::FsWrite,
        Self::ShellRun,
        Self::ShellOpaque,
        Self::NetFetch,
        Self::ClientTool,
        Self::AgentSwitch,
        Self::CredentialUse,
        Self::ProviderEndpoint,
        Self::UserPresence,
    ];

    /// Returns its name, as rules have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FsRead => Need::FS_READ,
            Self::FsWrite => Need::FS_WRITE,
            Self::ShellRun => Need::SHELL_RUN,
            Self::ShellOpaque => Need::SHELL_OPAQUE,
            Self::NetFetch => "net.fetch",
            Self::ClientTool => Need::CLIENT_TOOL,
            Self::AgentSwitch => Layer::SWITCH,
            Self::CredentialUse => "credential.use",
            Self::ProviderEndpoint => "provider.endpoint",
            Self::UserPresence => "user.presence",
        }
    }

    /// Finds one by its name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.name() == name)
    }

    /// Tells whether it is a person's own, which no child is handed on: SA-35, EXA-04.
    pub fn is_personal(self) -> bool {
        match self {
            Self::CredentialUse
            | Self::ProviderEndpoint
            | Self::UserPresence
            | Self::AgentSwitch => true,
            Self::FsRead
            | Self::FsWrite
            | Self::ShellRun
            | Self::ShellOpaque
            | Self::NetFetch
            | Self::ClientTool => false,
        }
    }

    /// Tells whether its targets are paths.
    pub(super) fn is_files(self) -> bool {
        matches!(self, Self::FsRead | Self::FsWrite)
    }
}

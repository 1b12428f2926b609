//! `sessions attach`: follows a session and leaves it alone.
//!
//! Only reads (R16): claims nothing, starts nothing, and a signal ends the
//! looking, not what is looked at. Over when the session is quiet, when nobody
//! runs it any more, or when nobody reads what is shown.

use std::sync::Arc;

use offshoot_engine::{Ending, Runtime, Subscription, Update, is_quiet, query};
use offshoot_types::event::{Entry, Event};
use offshoot_types::id::{AgentId, Pos, TreeId};
use offshoot_types::settlement::Settlement;
use offshoot_types::store::{StoreError, StoreErrorKind};
use offshoot_types::tree::{Tree, Unfinished};

use super::next;
use crate::config::Settings;
use crate::exit::{Code, Stop};
use crate::face::Face;
use crate::lookup::{self, Found, Session};
use crate::signals::Signals;
use crate::view::View;
use crate::{assemble, output, terminal, tree_view};

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// What happened before, too.
    Start,
    /// What happens.
    Now,
}

/// Why looking is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Nothing runs and nothing wants to.
    Quiet,
    /// It is not quiet, and its process is gone.
    Abandoned,
    /// A signal.
    Interrupted,
    /// Nobody reads what is shown.
    Unread,
}

/// Follows a session or one of its agents.
pub(super) async fn attach(
    settings: &Settings,
    id: &str,
    from: From,
    json: bool,
) -> Result<Code, Stop> {
    let mut signals = Signals::listen()?;
    let folder = assemble::kept_data_folder(settings)?;
    let Found { agent, session } = lookup::find(&folder.runtime, id).await?;
    let runtime = folder.runtime;
    if !json && from == From::Now {
        let owned = runtime.query(query::IsOwned(session.id.clone())).await?;
        let lines = tree_view::lines(&session, &agent, (owned, next(settings, &session)));
        let width = terminal::width(&std::io::stderr());
        // Whoever comes while nothing is said would see nothing, perhaps for long.
        for line in tree_view::running(&lines, width) {
            output::note(&line);
        }
    }
    let Session { id, log, tree } = session;
    let upto = tree.pos();
    // Looks only: there is nothing to type.
    let face = if json { Face::Events } else { Face::Plain };
    let mut view = face.open(settings, &id, &agent)?;
    let (tree, unfinished) = match from {
        From::Start => (Tree::default(), Unfinished::default()),
        From::Now => {
            view.before(&log);
            (tree, lookup::unfinished(&id, &agent, &log)?)
        }
    };
    drop(log);
    let mut watch = Watch {
        news: runtime.subscribe(&id, tree.pos()).await.news_only(),
        id,
        agent,
        tree,
        view,
        upto,
        seen: None,
        unfinished,
    };
    let ended = watch.follow(&runtime, &mut signals).await?;
    let code = watch.end(ended)?;
    runtime.shutdown(Ending::WhenQuiet).await;
    Ok(code)
}

/// A session that is looked at.
struct Watch {
    id: TreeId,
    agent: AgentId,
    tree: Tree,
    view: View,
    news: Subscription,
    /// Where the log ended at first.
    upto: Pos,
    /// How the last run ended that was seen to end.
    seen: Option<Arc<Settlement>>,
    /// What its agents left undone since that run began.
    unfinished: Unfinished,
}

impl Watch {
    async fn follow(&mut self, runtime: &Runtime, signals: &mut Signals) -> Result<Ended, Stop> {
        loop {
            if self.view.is_unread() {
                return Ok(Ended::Unread);
            }
            let quiet = self.tree.pos() >= self.upto && is_quiet(&self.tree, runtime.limits());
            // Between two entries that were committed together a tree may look quiet.
            if quiet && self.news.is_caught_up().await? {
                return Ok(Ended::Quiet);
            }
            tokio::select! {
                biased;
                _ = signals.next() => return Ok(Ended::Interrupted),
                update = self.news.next() => match update? {
                    Update::Entry(entry) => self.take(&entry)?,
                    Update::Orphaned => return Ok(Ended::Abandoned),
                    _ => {}
                },
            }
        }
    }

    fn take(&mut self, entry: &Entry) -> Result<(), Stop> {
        self.view.entry(&self.tree, entry)?;
        self.unfinished.take(&self.agent, &self.tree, entry);
        let was_at_rest = self.is_at_rest();
        self.tree.apply(entry).map_err(|violation| {
            let text = format!("follow session {}: {violation}", self.id);
            StoreError::new(StoreErrorKind::Unusable, text)
        })?;
        if was_at_rest && !self.is_at_rest() {
            self.unfinished = Unfinished::default();
        }
        if let Event::Settled { settlement, .. } = &entry.event
            && entry.agent == self.agent
        {
            self.seen = Some(Arc::new(settlement.clone()));
        }
        Ok(())
    }

    /// Tells whether the agent that is looked at has no open run.
    fn is_at_rest(&self) -> bool {
        let agent = self.tree.agent(&self.agent);
        agent.and_then(|agent| agent.open_run()).is_none()
    }

    /// Says how it went.
    fn end(&mut self, ended: Ended) -> Result<Code, Stop> {
        let id = &self.id;
        match ended {
            Ended::Quiet => {
                let agent = self.tree.agent(&self.agent);
                let caps = agent.map(|agent| &agent.terms().caps);
                self.view
                    .quiet(self.seen.as_deref().zip(caps), &self.unfinished)?;
            }
            Ended::Abandoned => output::note(&format!(
                "nobody runs session {id} any more; go on with: offshoot run --session {id} PROMPT"
            )),
            Ended::Interrupted => return Ok(Code::Interrupted),
            Ended::Unread => {}
        }
        match &self.seen {
            Some(settlement) => Ok(Code::of(&settlement.status).with(&self.unfinished, id)),
            None => {
                if ended == Ended::Quiet {
                    output::note(&format!("session {id} is quiet"));
                }
                Ok(Code::Completed)
            }
        }
    }
}

//! `offshoot run`: asks an agent something and prints its answer.
//!
//! Opens a session, or continues one, and hands over to `drive`. A session keeps
//! its model and its folder; asking it for others is refused rather than ignored.
//! Another agent takes over with what is said next.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use offshoot_agents::Catalogue;
use offshoot_engine::{CommandError, Runtime};
use offshoot_host::project_context::Reading;
use offshoot_types::caps::{Caps, Money};
use offshoot_types::command::{Command, Opening, Order};
use offshoot_types::env::Env;
use offshoot_types::event::Origin;
use offshoot_types::id::{AgentId, CommandId, TreeId};
use offshoot_types::listing::Among;
use offshoot_types::project::ProjectContext;
use offshoot_types::store::StoreErrorKind;
use offshoot_types::tier::Tier;

use crate::assemble::{self, Answered as _, Host, Models};
use crate::cli::{Choice, Most, Run};
use crate::config::{Settings, Sourced};
use crate::drive::{self, Elsewhere, Inquiry, Talk};
use crate::env::System;
use crate::exit::{Code, Stop};
use crate::face::Face;
use crate::lookup::{self, Found, Session};
use crate::sessions::remove::remove_unprompted;
use crate::signals::Signals;
use crate::{
    attach, clock, config, definitions, hooks, inside_agent, logging, output, prompt, render,
    rules, servers, trust,
};

/// How long another process may take to write the beginning of a session it opens.
const BIRTH: Duration = Duration::from_secs(5);

/// How often we look for it.
const LOOK: Duration = Duration::from_millis(20);

/// What is said without a prompt.
const GIVE_PROMPT: &str = "give a PROMPT, or - to read it from stdin";

/// What a session is opened or continued with.
#[derive(Clone, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) choice: &'a Choice,
    pub(crate) session: Option<&'a str>,
    pub(crate) goes_on: bool,
    pub(crate) cwd: Option<&'a Path>,
    pub(crate) most: Most,
    pub(crate) untrusted: Untrusted,
}

/// What becomes of agents that the folder brings and nobody has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untrusted {
    /// They are not used.
    LeftOut,
    /// The person is asked, who sits at a terminal and has time.
    AskedAbout,
}

/// A session that is there, and the runtime that runs it.
pub(crate) struct Opened {
    pub(crate) runtime: Runtime,
    pub(crate) session: Session,
    /// The folder it works in.
    pub(crate) workspace: String,
    /// Whether it was there before.
    pub(crate) known: bool,
    /// Whether there is a model for chores.
    pub(crate) helped: bool,
    /// The agents there are in its folder, with its model.
    pub(crate) agents: Catalogue,
    /// The agent that takes over with what is said next.
    pub(crate) swap: Option<String>,
    /// Agents that cannot take over, and why.
    pub(crate) barred: Vec<(String, String)>,
    /// The agents whose tiers have no model.
    pub(crate) unmapped: BTreeMap<String, Tier>,
}

/// Carries out `offshoot run`.
pub(crate) async fn run(args: Run, settings: &Settings) -> Result<Code, Stop> {
    // Before signals are listened to: who types a prompt and presses Ctrl-C means to leave.
    let typed = args.prompt.clone().filter(|prompt| prompt != "-");
    let prompt = args.prompt.clone().map(prompt::read).transpose()?;
    let most = settings.limits().attachments.part;
    let mut attachments = attach::read(&args.attach, most)?;
    let mut signals = Signals::listen()?;
    let face = Face::of(args.json, settings);
    let wanted = Wanted {
        choice: &args.choice,
        session: args.session.as_deref(),
        goes_on: args.goes_on,
        cwd: args.cwd.as_deref(),
        most: args.most,
        untrusted: Untrusted::LeftOut,
    };
    if prompt.is_none() && wanted.session.is_none() && !wanted.goes_on {
        return Err(Stop::usage(GIVE_PROMPT));
    }
    let says_yes = args.consent.yes;
    let host = Host::of(settings)
        .asking(args.consent, face.can_ask())
        .waiting(args.waiting);
    let opened = open(&wanted, settings, host).await?;
    let Opened {
        runtime,
        session,
        workspace,
        known,
        agents,
        swap,
        unmapped,
        ..
    } = opened;
    definitions::warn(&agents);
    rules::warn_of_strangers(settings, &workspace, &agents);
    hooks::warn(settings, &workspace, &agents);
    servers::warn(settings, &workspace);
    let ends = hooks::at_end(settings, &workspace);
    if let (None, Some(swap)) = (&prompt, &swap) {
        return Err(Stop::usage(format!(
            "agent {swap} takes over with a message; {GIVE_PROMPT}"
        )));
    }
    if prompt.is_none() && !known {
        return Err(Stop::usage(GIVE_PROMPT));
    }
    if let Some(speaker) = speaker(&session, swap.as_deref()) {
        output::note(&speaker);
    }
    // What is piped in names no files: another program wrote it.
    let typed = typed.as_ref().and_then(|typed| typed.to_str());
    let mentioned = typed.map(|typed| attach::mentioned(typed, Path::new(&workspace), most));
    attachments.extend(mentioned.into_iter().flatten());
    let (id, agent) = (session.id.clone(), session.id.root().clone());
    let view = face.open(settings, &session.id, &agent)?;
    let view = view.telling_of_tiers(unmapped);
    let inquiry = Inquiry {
        last: session.last_exchange(),
        session,
        agent,
        prompt,
        attachments,
        swap,
        elsewhere: if says_yes {
            Elsewhere::FollowDespiteYes
        } else {
            Elsewhere::Follow
        },
        talk: Talk::Once,
        waits_for_clients: face.can_ask() || args.waiting.wait_for_answers.is_some(),
        ends,
    };
    let done = drive::drive(runtime, inquiry, view, &mut signals).await;
    if done.is_err() && !known {
        // A hook may have refused the first prompt: then the session holds nothing.
        let data = &settings.data_dir.value;
        if let Err(error) = remove_unprompted(&id, data).await {
            tracing::warn!(%error, "remove the session, in which nothing was said");
        }
    }
    done
}

/// Says who answers, where that is not who the session began with.
fn speaker(session: &Session, swap: Option<&str>) -> Option<String> {
    let root = session.tree.agent(session.id.root())?;
    let first = &root.spawned.definition;
    let now = swap.unwrap_or(root.definition());
    (now != first).then(|| format!("agent {now} answers; the session began with {first}"))
}

/// Opens a session, or finds the one to continue.
pub(crate) async fn open(
    wanted: &Wanted<'_>,
    settings: &Settings,
    host: Host,
) -> Result<Opened, Stop> {
    let asked_model = wanted.choice.model.as_deref();
    let asked_model = asked_model.map(|model| assemble::model_name(model, Path::new(""), settings));
    let asked_model = asked_model.transpose()?;
    let folder = assemble::data_folder(settings)?;
    let known = existing(&folder.runtime, wanted).await?;
    if known.is_some() {
        inside_agent::refuse("what is said to a session that was there before")?;
    }
    let id = match (&known, wanted.session) {
        (Some(session), _) => session.id.root().clone(),
        (None, Some(wanted)) => AgentId::new(wanted),
        (None, None) => AgentId::new(System.new_id()),
    };
    let kept_model = known.as_ref().and_then(Session::model);
    let model = match (kept_model, asked_model, wanted.session) {
        (Some(kept), asked, _) => keep_model(&id, kept, asked.as_deref())?,
        (None, Some(asked), _) => asked,
        (None, None, Some(id)) => return Err(unknown(id)),
        (None, None, None) => assemble::chosen(&settings.model, settings)?,
    };
    assemble::check(&model, &host)?;
    let workspace = match known.as_ref().and_then(Session::workspace) {
        Some(kept) => kept.to_owned(),
        None => config::workspace(wanted.cwd)?,
    };
    // A session that is there keeps what it was told when it started.
    let project = known.is_none().then(|| Reading::start(&workspace));
    if wanted.untrusted == Untrusted::AskedAbout {
        trust::offer(settings, &workspace).await?;
    }
    let workspaces = assemble::workspaces(settings, host, &model);
    let read = workspaces.read(&workspace)?;
    let (agents, models) = (&read.agents, &read.models);
    let helped = models.choices().tier(Tier::Small).is_some();
    let kept_agent = known.as_ref().and_then(Session::definition);
    let goes_on = kept_agent.filter(|_| wanted.choice.agent.is_none());
    let agent = agent(goes_on, &settings.agent, agents)?;
    let swap = kept_agent.is_some_and(|kept| kept != agent);
    let swap = swap.then(|| agent.clone());
    // A session keeps the cap it was opened with, whoever takes over.
    let root = known.as_ref().and_then(|session| session.tree.agent(&id));
    let kept_cost = root.and_then(|root| root.spawned.terms.caps.cost);
    let cap = kept_cost.or(wanted.most.caps().cost);
    let pricing = Pricing {
        cap,
        model: &model,
        agents,
        models,
        host: &read.host,
    };
    // What a session was opened with was looked at then.
    if known.is_none() || swap.is_some() {
        pricing.check(&agent)?;
    }
    let barred = pricing.barred();
    let unmapped = definitions::without_tier_model(agents, models.choices());
    let agents = agents.clone();
    folder.use_projects(workspaces);
    let runtime = folder.runtime;
    let folder = workspace.clone();
    let is_known = known.is_some();
    let session = match known {
        Some(session) => session,
        None => {
            let project = match project {
                Some(project) => {
                    let (project, notices) = project.finish().await;
                    notices.iter().for_each(|notice| output::note(notice));
                    Some(Box::new(project))
                }
                None => None,
            };
            let new = New {
                project,
                id: id.clone(),
                model: model.clone(),
                agent,
                workspace,
                caps: wanted.most.caps(),
            };
            let session = new.open(&runtime).await?;
            output::note(&format!("session {id}"));
            if let Some(choice) = assemble::choice(&settings.model) {
                output::note(&choice);
            }
            session
        }
    };
    Ok(Opened {
        runtime,
        session,
        workspace: folder,
        known: is_known,
        helped,
        agents,
        swap,
        barred,
        unmapped,
    })
}

/// Returns the model of a session; fails if another was asked for.
fn keep_model(id: &AgentId, kept: &str, asked: Option<&str>) -> Result<String, Stop> {
    if asked.is_some_and(|asked| asked != kept) {
        let kept = render::model(kept);
        let text = format!("session {id} keeps its model, {kept}; leave out --model");
        return Err(Stop::usage(text));
    }
    Ok(kept.to_owned())
}

/// Returns the agent of a session, by its own name; fails if that cannot be what was asked for.
fn agent(kept: Option<&str>, asked: &Sourced<String>, agents: &Catalogue) -> Result<String, Stop> {
    match kept {
        Some(kept) => {
            definitions::refuse(agents, kept)?;
            Ok(kept.to_owned())
        }
        None => Ok(definitions::startable(agents, asked)?),
    }
}

/// What it takes to tell whether an agent's model has a price, where money is capped.
struct Pricing<'a> {
    /// The cap of the session.
    cap: Option<Money>,
    /// The model of the session.
    model: &'a str,
    agents: &'a Catalogue,
    models: &'a Models,
    host: &'a Host,
}

impl Pricing<'_> {
    /// Refuses an agent whose money is capped and whose model has no price.
    fn check(&self, agent: &str) -> Result<(), Stop> {
        let Some(agent) = self.agents.get(agent).map(|agent| &agent.manifest) else {
            return Ok(());
        };
        let usual = self.host.limits().root;
        let caps = [self.cap, agent.limits.cost, usual.cost];
        match caps.into_iter().flatten().next() {
            Some(_) => {
                let named = self.models.choices().named(agent, self.model);
                let model = named.unwrap_or(self.model);
                Ok(self.models.check_price(model, self.host)?)
            }
            None => Ok(()),
        }
    }

    /// Returns the agents that people may start and that cannot take over here, and why.
    fn barred(&self) -> Vec<(String, String)> {
        let mut barred = Vec::new();
        for agent in self.agents.all().map(|agent| &agent.manifest) {
            if let Err(stop) = self.check(&agent.name) {
                barred.push((agent.name.clone(), stop.to_string()));
            }
        }
        barred
    }
}

/// Finds the session to continue; `None` if one has to be opened.
///
/// A part of an id stands for the session that has it, so none can be opened under such a part.
async fn existing(runtime: &Runtime, args: &Wanted<'_>) -> Result<Option<Session>, Stop> {
    if args.goes_on {
        let workspace = config::workspace(args.cwd)?;
        let session = lookup::newest_in(runtime, &workspace).await?;
        keeps(&session, args)?;
        return Ok(Some(session));
    }
    let Some(wanted) = args.session.filter(|id| !id.is_empty()) else {
        return match args.session {
            Some(_) => Err(Stop::usage("the id of --session is empty")),
            None => Ok(None),
        };
    };
    AgentId::from_client(wanted).map_err(|error| Stop::usage(error.to_string()))?;
    // A command with a model may open a session: its id may be a part of that of an agent.
    let among = match args.choice.model {
        Some(_) => Among::Sessions,
        None => Among::Agents,
    };
    let Some(Found { agent, session }) = lookup::search(runtime, wanted, among).await? else {
        return Ok(None);
    };
    if session.id.root() != &agent {
        return Err(Stop::usage(format!(
            "{agent} is an agent of session {}; talk to it with: offshoot sessions message {agent}",
            session.id
        )));
    }
    keeps(&session, args)?;
    Ok(Some(session))
}

fn unknown(id: &str) -> Stop {
    Stop::usage(format!(
        "there is no session {id}; to start one with this id, give --model PROVIDER/NAME, such as \
         scripted/FILE"
    ))
}

/// Refuses what would change a session.
fn keeps(session: &Session, args: &Wanted<'_>) -> Result<(), Stop> {
    let id = &session.id;
    if let Some(flag) = args.most.given() {
        let text = format!("session {id} keeps its limits; leave out {flag}");
        return Err(Stop::usage(text));
    }
    let Some(root) = session.tree.agent(id.root()) else {
        return Ok(());
    };
    if let (Some(asked), Origin::Session { workspace, .. }) = (&args.cwd, &root.spawned.origin)
        && config::workspace(Some(asked))? != *workspace
    {
        let text = format!("session {id} keeps its folder, {workspace}; leave out --cwd");
        return Err(Stop::usage(text));
    }
    Ok(())
}

/// A session that is to be opened.
struct New {
    project: Option<Box<ProjectContext>>,
    id: AgentId,
    model: String,
    agent: String,
    workspace: String,
    caps: Caps,
}

impl New {
    /// Opens the session, or finds it when another process was quicker.
    async fn open(self, runtime: &Runtime) -> Result<Session, Stop> {
        let tree = TreeId::of(self.id.clone());
        let opening = Opening {
            definition: self.agent,
            model: self.model,
            workspace: self.workspace,
            date: clock::date(System.now()),
            project: self.project,
            caps: self.caps,
            metadata: None,
            prompt: None,
            client_tools: Vec::new(),
        };
        let command = Command {
            id: CommandId::new(System.new_id()),
            tree: tree.clone(),
            agent: self.id,
            order: Order::open(opening),
        };
        logging::sent(&command);
        match runtime.command(command).await {
            // Nothing of it is to be skipped: its birth is news as well.
            Ok(_) => Ok(Session::unborn(tree)),
            Err(CommandError::Store(error)) if error.kind == StoreErrorKind::Held => {
                born_elsewhere(runtime, tree).await
            }
            Err(error) => match lookup::session(runtime, &tree).await? {
                Some(session) => Ok(session),
                None => Err(error.into()),
            },
        }
    }
}

/// Waits for a session that another process is opening.
async fn born_elsewhere(runtime: &Runtime, tree: TreeId) -> Result<Session, Stop> {
    let born = async {
        loop {
            if let Some(session) = lookup::session(runtime, &tree).await? {
                return Ok(session);
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    match tokio::time::timeout(BIRTH, born).await {
        Ok(session) => session,
        Err(_) => Err(Stop::usage(format!(
            "session {tree} is held by another process that does not open it"
        ))),
    }
}

//! A layer's rules, taken apart once and found by what they are about.
//!
//! Whether a rule is about a need, how specific it is, and which rule of a layer
//! decides. Nothing here knows of other layers. Targets are text, those of
//! `shell.run` words and those of `net.fetch` hosts. An opaque command is allowed
//! only by a rule for `shell.opaque`; one that was not read at all, only by a
//! `shell.opaque` rule with the pattern `*`. A wrapper (`nohup`) is checked against
//! rules that name it and needs no allow of its own.

use std::collections::BTreeMap;

use super::argv::{self, Argv, Fit, Words};
use super::capability::Capability;
use super::host::{Host, HostPattern};
use super::pattern::{Kind, Pattern, literal};
use super::{Action, Layer, Need, Rule, Standing, written};

/// The rules of a layer by what they are about.
#[derive(Debug)]
pub(super) struct Compiled(BTreeMap<Box<str>, Vec<Matcher>>);

/// A rule, taken apart.
#[derive(Debug)]
struct Matcher {
    /// Which one of the layer's it is.
    index: usize,
    action: Action,
    /// Whether it allows commands by what they are called.
    allows_commands: bool,
    /// How specific it is for text and words.
    weight: (Kind, usize),
    /// Whether it is a glob of all that begins so: `docs/**`.
    deep: bool,
    text: Pattern,
    /// As a pattern of commands, where it can be one.
    words: Option<Words>,
    /// Whether it names what is opaque.
    opaque: bool,
    /// As a pattern of hosts, where it can be one.
    host: Option<HostPattern>,
}

/// What is written otherwise in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changed {
    /// The word that says which command of the program it is.
    Name,
    /// The words that begin with `/` or `./`.
    Paths,
}

/// What somebody wants to do, taken apart.
pub(super) struct Wanted<'a> {
    tool: &'a str,
    capability: &'a str,
    target: Target<'a>,
}

enum Target<'a> {
    Text(&'a str),
    /// A file that a command is redirected to or from.
    Redirected(&'a str),
    /// What nobody can see through: its text, and that as words, as far as it is so written.
    Opaque(&'a str, Argv<'a>),
    Unread(&'a str),
    Command(Argv<'a>),
    Wrapper(Argv<'a>),
    /// The same command as others would write it.
    Alike(Argv<'a>, Changed),
    Host(Option<Host>),
    /// A call of the engine's own, which needs nothing; with all names of what it is about.
    Call(&'a [&'a str]),
}

impl<'a> Wanted<'a> {
    /// A call of the engine's own.
    pub(super) fn of_call(call: &'a str, about: &'a [&'a str]) -> Self {
        Self {
            tool: call,
            capability: call,
            target: Target::Call(about),
        }
    }

    pub(super) fn new(tool: &'a str, need: &'a Need) -> Self {
        let target = need.target.as_str();
        let (capability, target) = match need.capability.as_str() {
            // These have no rules of their own: rules for another capability are about them.
            Need::SHELL_UNREAD => (Need::SHELL_OPAQUE, Target::Unread(target)),
            Need::SHELL_WRAPPER => (Need::SHELL_RUN, Target::Wrapper(argv::read(target))),
            Need::SHELL_WORDS => (Need::SHELL_OPAQUE, Target::Wrapper(argv::read(target))),
            Need::SHELL_ALIAS => (
                Need::SHELL_RUN,
                Target::Alike(argv::read(target), Changed::Name),
            ),
            Need::SHELL_PATHS => (
                Need::SHELL_RUN,
                Target::Alike(argv::read(target), Changed::Paths),
            ),
            name => {
                let target = match Capability::of(name) {
                    Some(Capability::ShellRun) => Target::Command(argv::read(target)),
                    Some(Capability::ShellOpaque) => Target::Opaque(target, argv::read(target)),
                    Some(Capability::NetFetch) => Target::Host(Host::of(target)),
                    Some(files) if files.is_files() && tool == written::SHELL => {
                        Target::Redirected(target)
                    }
                    Some(_) | None => Target::Text(target),
                };
                (name, target)
            }
        };
        Self {
            tool,
            capability,
            target,
        }
    }
}

impl Wanted<'_> {
    /// Returns what holds where no layer says anything.
    pub(super) fn default(&self) -> Action {
        match self.target {
            // The wrapped command is a need of its own; a call of the engine's own needs nothing.
            Target::Wrapper(_) | Target::Alike(..) | Target::Call(_) => Action::Allow,
            Target::Text(_)
            | Target::Redirected(_)
            | Target::Opaque(..)
            | Target::Unread(_)
            | Target::Command(_)
            | Target::Host(_) => Action::Ask,
        }
    }

    /// Tells whether it may be unknown whether a rule fits it ([`Fit::Maybe`]).
    fn may_fit(&self) -> bool {
        !self.is_text()
    }

    /// Tells whether it is held against patterns as text, and not as words or a host.
    fn is_text(&self) -> bool {
        match self.target {
            Target::Text(_) | Target::Redirected(_) | Target::Unread(_) | Target::Call(_) => true,
            Target::Command(_)
            | Target::Wrapper(_)
            | Target::Alike(..)
            | Target::Opaque(..)
            | Target::Host(_) => false,
        }
    }

    pub(super) fn is_personal(&self) -> bool {
        Capability::of(self.capability).is_some_and(Capability::is_personal)
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.target, Target::Call(_))
    }
}

/// What a layer says of a need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) action: Action,
    /// `None` for the implicit deny at the end of a closed layer.
    pub(super) rule: Option<&'a Rule>,
    /// Whether it depends on what open words become if the rule fits.
    pub(super) in_doubt: bool,
}

/// How specific a match is: exact text, then beginning, glob, `*`; longer literal text first; then
/// how directly the rule names what it is about.
type Weight = (Kind, usize, u8);

impl Compiled {
    pub(super) fn of(rules: &[Rule]) -> Self {
        let mut by_permission: BTreeMap<Box<str>, Vec<Matcher>> = BTreeMap::new();
        for (index, rule) in rules.iter().enumerate() {
            let matchers = by_permission.entry(rule.permission.as_str().into());
            let matchers = matchers.or_default();
            let matcher = Matcher::of(index, rule);
            matchers.extend(matcher.with_arguments());
            matchers.push(matcher);
        }
        Self(by_permission)
    }

    /// Returns what a layer says; `None` if it abstains.
    pub(super) fn word<'l>(&self, layer: &'l Layer, wanted: &Wanted<'_>) -> Option<Word<'l>> {
        let mut search = Search {
            best: None,
            beginning: None,
            doubt: None,
            is_named: false,
        };
        // A rule that allows commands does not allow opaque ones: only `shell.opaque` does.
        let is_opaque = matches!(wanted.target, Target::Opaque(..) | Target::Unread(_));
        let most = |named: &str| {
            if is_opaque && named != Need::SHELL_OPAQUE {
                Action::Ask
            } else {
                Action::Allow
            }
        };
        search.look(
            self.about(wanted.capability),
            wanted,
            1,
            most(wanted.capability),
        );
        // Where a rule names what is opaque, what others allow is no word about it. Nor is it in a layer
        // that only narrows: an allow there takes nothing away.
        let only_narrows = layer.standing == Standing::Narrows && !layer.closed;
        search.is_named = is_opaque && (search.best.is_some() || only_narrows);
        search.look(self.about("*"), wanted, 0, most("*"));
        if wanted.tool != wanted.capability && wanted.tool != "*" {
            // Who allows the shell has not allowed what is forbidden of files: of the two, the stricter.
            let is_file = matches!(wanted.target, Target::Redirected(_));
            let named = if is_file { 1 } else { 3 };
            search.look(self.about(wanted.tool), wanted, named, most(wanted.tool));
        }
        if let Some(all) = all_of_server(wanted.tool) {
            search.look(self.about(&all), wanted, 2, most(&all));
        }
        if is_opaque {
            // A rule for all commands is about opaque ones as well; one for some commands is not.
            let all = self.about(Need::SHELL_RUN).iter();
            let speaks = |matcher: &&Matcher| !(only_narrows && matcher.action == Action::Allow);
            let all = all.filter(|matcher| matcher.is_for_all());
            for matcher in all.filter(speaks) {
                let least = (Kind::Any, 0, 0);
                take(
                    &mut search.best,
                    least,
                    matcher.action.min(Action::Ask),
                    matcher.index,
                );
            }
        }
        if matches!(wanted.target, Target::Unread(_)) {
            let commands = self.may_forbid_commands(wanted.tool);
            // A list that says nothing of commands does not doubt them for the files that it names.
            let speaks = search.best.is_some();
            search.doubt = commands.or_else(|| self.forbids_files().filter(|_| speaks));
        }
        // A closed layer's implicit deny does not apply to wrappers (the wrapped command is denied
        // instead) or to engine calls, which need nothing.
        let is_wrapper = matches!(wanted.target, Target::Wrapper(_) | Target::Alike(..));
        search.word(layer, layer.closed && !is_wrapper && !wanted.is_call())
    }

    /// Finds a rule that denies or asks about some command: an unread command may be that one.
    fn may_forbid_commands(&self, tool: &str) -> Option<usize> {
        let forbids = |matcher: &&Matcher| matcher.action != Action::Allow;
        let about = [Need::SHELL_OPAQUE, Need::SHELL_RUN, tool, "*"];
        let mut all = about.iter().flat_map(|name| self.about(name));
        let some = all.find(|matcher| forbids(matcher) && !matcher.is_for_all());
        // Of rules for all commands, the one that names them most directly decides.
        let whole = [tool, Need::SHELL_RUN, "*"]
            .iter()
            .map(|name| self.about(name).iter().filter(|rule| rule.is_for_all()))
            .find_map(|rules| rules.min_by_key(|matcher| matcher.action));
        let found = some.or_else(|| whole.filter(forbids));
        found.map(|matcher| matcher.index)
    }

    /// Finds a rule that denies or asks about files: an unread command may be redirected to one.
    fn forbids_files(&self) -> Option<usize> {
        let files = Capability::ALL.into_iter().filter(|about| about.is_files());
        let mut rules = files.flat_map(|about| self.about(about.name()));
        let found = rules.find(|matcher| matcher.action != Action::Allow);
        found.map(|matcher| matcher.index)
    }

    /// Tells whether a layer denies a capability to a tool whatever the target.
    pub(super) fn bars(&self, layer: &Layer, tool: &str, capability: &str) -> bool {
        // `shell.unread` and `shell.wrapper` have no rules of their own.
        let capability = match capability {
            Need::SHELL_UNREAD => Need::SHELL_OPAQUE,
            // The wrapped command is what is denied.
            Need::SHELL_WRAPPER | Need::SHELL_WORDS | Need::SHELL_ALIAS | Need::SHELL_PATHS => {
                return false;
            }
            other => other,
        };
        let server = all_of_server(tool);
        let mut about = vec!["*", capability, tool];
        about.extend(server.as_deref());
        if capability == Need::SHELL_OPAQUE {
            about.push(Need::SHELL_RUN);
        }
        let all: Vec<&Matcher> = about.iter().flat_map(|name| self.about(name)).collect();
        let denies_all = layer.closed || all.iter().any(|matcher| matcher.is_for_all());
        denies_all && all.iter().all(|matcher| matcher.denies())
    }

    /// Tells whether a layer could deny, or ask about, something below a folder.
    ///
    /// It may say yes where in the end nothing is withheld, but never no where something is.
    pub(super) fn withholds_below(
        &self,
        layer: &Layer,
        tool: &str,
        capability: &str,
        folder: &str,
    ) -> bool {
        let server = all_of_server(tool);
        let mut about = vec!["*", capability, tool];
        about.extend(server.as_deref());
        let all = || about.iter().flat_map(|name| self.about(name));
        let allows_all =
            |matcher: &Matcher| matcher.action == Action::Allow && matcher.is_for_all();
        let forbids = |matcher: &Matcher| {
            matcher.action != Action::Allow && matcher.text.may_fit_below(folder)
        };
        all().any(forbids) || (layer.closed && !all().any(allows_all))
    }

    /// Tells whether rules that name the tool itself deny all of it, without exception.
    pub(super) fn denies_by_name(&self, tool: &str) -> bool {
        let server = all_of_server(tool);
        let all = server.iter().flat_map(|server| self.about(server));
        let own: Vec<&Matcher> = self.about(tool).iter().chain(all).collect();
        let denies_all = own.iter().any(|matcher| matcher.is_for_all());
        tool != "*" && denies_all && own.iter().all(|matcher| matcher.denies())
    }

    /// Counts the rules that have to be looked at for a need.
    #[cfg(test)]
    pub(super) fn looked_at(&self, wanted: &Wanted<'_>) -> usize {
        let about = ["*", wanted.capability, wanted.tool];
        about.iter().map(|name| self.about(name).len()).sum()
    }

    fn about(&self, permission: &str) -> &[Matcher] {
        self.0.get(permission).map_or(&[], Vec::as_slice)
    }
}

/// Returns what stands for all tools of the server of a tool (`mcp:SERVER:*`), if it has one.
fn all_of_server(tool: &str) -> Option<String> {
    let (server, _) = tool.strip_prefix("mcp:")?.split_once(':')?;
    Some(format!("mcp:{server}:*"))
}

impl Matcher {
    fn of(index: usize, rule: &Rule) -> Self {
        let pattern = rule.pattern.as_str();
        // A rule for `*` or for a tool may meet targets of every kind.
        let about = Capability::of(&rule.permission);
        let opaque = about == Some(Capability::ShellOpaque);
        let commands = opaque || matches!(about, Some(Capability::ShellRun) | None);
        let hosts = matches!(about, Some(Capability::NetFetch) | None);
        let text = Pattern::of(pattern);
        Self {
            index,
            action: rule.action,
            allows_commands: written::allows_commands(rule) && pattern != "*",
            weight: (Kind::of(pattern), literal(pattern.as_bytes())),
            deep: Kind::of(pattern) == Kind::Glob && text.is_beginning() && !text.head().is_empty(),
            text,
            words: commands.then(|| Words::of(pattern)),
            opaque,
            host: hosts.then(|| HostPattern::of(pattern).ok()).flatten(),
        }
    }

    /// Returns the same rule for the command with arguments: a rule that denies or asks about `rm` is
    /// about `rm x` as well. One that allows `rm` is not.
    fn with_arguments(&self) -> Option<Self> {
        let words = self.words.as_ref().and_then(Words::with_arguments);
        let forbids = self.action != Action::Allow;
        words.filter(|_| forbids).map(|words| Self {
            index: self.index,
            action: self.action,
            allows_commands: false,
            weight: (Kind::Begins, self.weight.1),
            deep: false,
            text: self.text.clone(),
            words: Some(words),
            opaque: self.opaque,
            host: None,
        })
    }

    /// Tells whether it has no say about a target, although it may fit.
    fn is_silent_on(&self, target: &Target<'_>) -> bool {
        match target {
            // An allow that fits how the text begins says nothing of the rest, which was not read.
            Target::Unread(_) => self.action == Action::Allow && !self.is_for_all(),
            // A rule for all commands already applies to the wrapped command.
            Target::Wrapper(_) => self.words.as_ref().is_none_or(Words::is_all),
            // A rule that says nothing of what is changed has had its say of the command itself.
            Target::Alike(argv, changed) => {
                let says = |words: &Words| match changed {
                    Changed::Name => words.names_command(),
                    Changed::Paths => words.names_path_of(argv),
                };
                !self.words.as_ref().is_some_and(says)
            }
            // A rule that allows running a script does not allow writing to it.
            Target::Redirected(_) => self.allows_commands,
            Target::Text(_)
            | Target::Opaque(..)
            | Target::Command(_)
            | Target::Host(_)
            | Target::Call(_) => false,
        }
    }

    /// Tells whether its pattern is `*`.
    fn is_for_all(&self) -> bool {
        matches!(self.text, Pattern::Any)
    }

    fn denies(&self) -> bool {
        self.action == Action::Deny
    }

    fn weight(&self, target: &Target<'_>) -> (Kind, usize) {
        let words = self.words.as_ref();
        match (target, &self.host) {
            (Target::Host(_), Some(host)) => host.weight(),
            // Blanks and quotes make no rule more specific.
            (
                Target::Command(_) | Target::Wrapper(_) | Target::Alike(..) | Target::Opaque(..),
                _,
            ) => words.map_or(self.weight, Words::weight),
            // An agent's aliases count alike: a longer name is not more specific.
            (Target::Call(_), _) if self.weight.0 == Kind::Exact => (Kind::Exact, 0),
            _ => self.weight,
        }
    }

    fn fit(&self, target: &Target<'_>) -> Option<Fit> {
        match target {
            Target::Text(text) | Target::Redirected(text) | Target::Unread(text) => {
                self.text.fit(text)
            }
            Target::Opaque(text, argv) => {
                let as_text = self.text.fit(text);
                // However it is written, it is what is forbidden.
                let words = self.words.as_ref().filter(|_| self.opaque);
                let words = words.filter(|_| self.action != Action::Allow);
                as_text.or_else(|| words?.fit_however(argv))
            }
            // A rule for one of the names is about whatever has it.
            Target::Call(names) => {
                let mut names = names.iter();
                names
                    .any(|name| self.text.fits(name))
                    .then_some(Fit::Surely)
            }
            Target::Host(host) => self.host.as_ref()?.fit(host.as_ref()),
            Target::Command(argv) | Target::Wrapper(argv) => {
                let words = self.words.as_ref()?;
                match self.action {
                    Action::Allow => words.fit_inside(argv),
                    Action::Deny | Action::Ask => words.fit_however(argv),
                }
            }
            // What is allowed there is an exception, and grants nothing.
            Target::Alike(argv, _) => self.words.as_ref()?.fit_however(argv),
        }
    }
}

/// What was found so far in a layer.
struct Search {
    best: Option<(Weight, Action, usize)>,
    /// The most specific of what says how a text begins, `docs/**` as well as `docs/*`.
    beginning: Option<(Weight, Action, usize)>,
    /// A rule that would deny or ask, depending on what open words become.
    doubt: Option<usize>,
    /// Whether a rule was found that names what is opaque.
    is_named: bool,
}

impl Search {
    fn look(&mut self, matchers: &[Matcher], wanted: &Wanted<'_>, named: u8, most: Action) {
        // `deny *` denies needs, and engine calls have none.
        let needs = |matcher: &&Matcher| !(wanted.is_call() && named == 0 && matcher.denies());
        let speaks = |matcher: &&Matcher| !matcher.is_silent_on(&wanted.target);
        let is_named = self.is_named;
        let counts = |matcher: &&Matcher| matcher.action <= most || !is_named;
        for matcher in matchers.iter().filter(needs).filter(speaks).filter(counts) {
            let (kind, literal) = matcher.weight(&wanted.target);
            let weight = (kind, literal, named);
            let action = matcher.action.min(most);
            let is_deep = matcher.deep && wanted.is_text();
            let as_beginning = (Kind::Begins, literal, named);
            let wins_as_beginning = is_deep && wins(&self.beginning, as_beginning, action);
            let loses = !wins_as_beginning && !wins(&self.best, weight, action);
            // A rule that loses may still make the result doubtful.
            let may_doubt = self.doubt.is_none() && action != Action::Allow && wanted.may_fit();
            if loses && !may_doubt {
                continue;
            }
            match matcher.fit(&wanted.target) {
                Some(Fit::Surely) => {
                    take(&mut self.best, weight, action, matcher.index);
                    if is_deep || kind == Kind::Begins {
                        take(&mut self.beginning, as_beginning, action, matcher.index);
                    }
                }
                Some(Fit::Maybe) if action != Action::Allow => {
                    self.doubt.get_or_insert(matcher.index);
                }
                Some(Fit::Maybe) | None => {}
            }
        }
    }

    fn word(self, layer: &Layer, closed: bool) -> Option<Word<'_>> {
        // Beside a beginning, a stricter rule for a folder (`docs/**`) is one as well.
        let best = match (self.best, self.beginning) {
            (Some(((Kind::Begins, ..), said, _)), Some(other)) if other.1 < said => Some(other),
            (best, _) => best,
        };
        let (action, rule, in_doubt) = match (best, self.doubt) {
            // A possible deny turns an allow into an ask.
            (Some((_, Action::Allow, _)), Some(doubt)) => (Action::Ask, Some(doubt), true),
            (Some((_, action, rule)), _) => (action, Some(rule), false),
            (None, _) if closed => (Action::Deny, None, false),
            (None, Some(doubt)) => (Action::Ask, Some(doubt), true),
            (None, None) => return None,
        };
        Some(Word {
            action,
            rule: rule.and_then(|index| layer.rules.get(index)),
            in_doubt,
        })
    }
}

/// The most specific rule; on a tie the strictest, for which `Deny` sorts first.
fn wins(best: &Option<(Weight, Action, usize)>, weight: Weight, action: Action) -> bool {
    let best = best.as_ref();
    best.is_none_or(|(so_far, said, _)| weight.cmp(so_far).then(said.cmp(&action)).is_gt())
}

fn take(best: &mut Option<(Weight, Action, usize)>, weight: Weight, action: Action, index: usize) {
    if wins(best, weight, action) {
        *best = Some((weight, action, index));
    }
}

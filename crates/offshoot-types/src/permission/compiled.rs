//! A layer's rules, taken apart once and found by what they are about.
//!
//! Whether a rule is about a need, how specific it is, and which rule of a layer
//! has its word. Nothing here knows of other layers. Targets are text, those of
//! `shell.run` words and those of `net.fetch` hosts. What is opaque is allowed by
//! nothing but a rule that names it, whatever else that layer allows; what nobody
//! has read, by one that allows all of it; and a program that only runs another is
//! held against rules that name it, and needs none.

use std::collections::BTreeMap;

use super::argv::{self, Argv, Fit, Words};
use super::capability::Capability;
use super::host::{Host, HostPattern};
use super::pattern::{Kind, Pattern, literal};
use super::{Action, Layer, Need, Rule, written};

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
    weight: (u8, usize),
    text: Pattern,
    /// As a pattern of commands, where it can be one.
    words: Option<Words>,
    /// Whether it names what is opaque.
    opaque: bool,
    /// As a pattern of hosts, where it can be one.
    host: Option<HostPattern>,
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
    Host(Option<Host>),
    /// A call of the engine's own, which needs nothing; the names are all those of what it is about.
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
            // No rule has these names: they are about what a rule for another says.
            Need::SHELL_UNREAD => (Need::SHELL_OPAQUE, Target::Unread(target)),
            Need::SHELL_WRAPPER => (Need::SHELL_RUN, Target::Wrapper(argv::read(target))),
            Need::SHELL_WORDS => (Need::SHELL_OPAQUE, Target::Wrapper(argv::read(target))),
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
    /// Returns what holds where nobody says anything.
    pub(super) fn default(&self) -> Action {
        match self.target {
            // What it runs is asked for by itself; a call of the engine's own needs nothing.
            Target::Wrapper(_) | Target::Call(_) => Action::Allow,
            Target::Text(_)
            | Target::Redirected(_)
            | Target::Opaque(..)
            | Target::Unread(_)
            | Target::Command(_)
            | Target::Host(_) => Action::Ask,
        }
    }

    /// Tells whether a rule may fit it in some cases and in others not.
    fn may_fit(&self) -> bool {
        match self.target {
            Target::Command(_) | Target::Wrapper(_) | Target::Opaque(..) | Target::Host(_) => true,
            Target::Text(_) | Target::Redirected(_) | Target::Unread(_) | Target::Call(_) => false,
        }
    }

    pub(super) fn is_personal(&self) -> bool {
        Capability::of(self.capability).is_some_and(Capability::is_personal)
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.target, Target::Call(_))
    }
}

/// The word of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) action: Action,
    /// `None` for the implicit deny at the end of a closed layer.
    pub(super) rule: Option<&'a Rule>,
    /// Whether the rule fits only if open words become what it names.
    pub(super) in_doubt: bool,
}

/// How specific a match is: exact text, then beginning, glob, `*`; longer literal text first; then
/// how directly the rule names what it is about.
type Weight = (u8, usize, u8);

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
            doubt: None,
            is_named: false,
        };
        // Who allows commands has not allowed what nobody can see into.
        let is_opaque = matches!(wanted.target, Target::Opaque(..) | Target::Unread(_));
        let most = |named: &str| match is_opaque && named != Need::SHELL_OPAQUE {
            true => Action::Ask,
            false => Action::Allow,
        };
        search.look(
            self.about(wanted.capability),
            wanted,
            1,
            most(wanted.capability),
        );
        // Where a rule names what is opaque, what others allow is no word about it.
        search.is_named = is_opaque && search.best.is_some();
        search.look(self.about("*"), wanted, 0, most("*"));
        if wanted.tool != wanted.capability && wanted.tool != "*" {
            // Who allows the shell has not allowed what is forbidden of files: of the two, the stricter.
            let is_file = matches!(wanted.target, Target::Redirected(_));
            let named = if is_file { 1 } else { 2 };
            search.look(self.about(wanted.tool), wanted, named, most(wanted.tool));
        }
        if is_opaque {
            // A rule for all commands is one for these as well; one for some of them is not.
            let all = self.about(Need::SHELL_RUN).iter();
            for matcher in all.filter(|matcher| matches!(matcher.text, Pattern::Any)) {
                search.take((0, 0, 0), matcher.action.min(Action::Ask), matcher.index);
            }
        }
        if matches!(wanted.target, Target::Unread(_)) {
            search.doubt = self.may_forbid_commands(wanted.tool);
        }
        // A list that ends in deny says it of what a wrapper runs, and of what calls need.
        let is_wrapper = matches!(wanted.target, Target::Wrapper(_));
        search.word(layer, layer.closed && !is_wrapper && !wanted.is_call())
    }

    /// Finds a rule that forbids, or asks about, commands or some of them: what nobody has read may be
    /// one of those, with so much behind it that it is not read.
    fn may_forbid_commands(&self, tool: &str) -> Option<usize> {
        let is_any = |matcher: &&Matcher| matches!(matcher.text, Pattern::Any);
        let forbids = |matcher: &&Matcher| matcher.action != Action::Allow;
        let about = [Need::SHELL_OPAQUE, Need::SHELL_RUN, tool, "*"];
        let mut all = about.iter().flat_map(|name| self.about(name));
        let some = all.find(|matcher| forbids(matcher) && !is_any(matcher));
        // Of rules for all commands the one that names them most directly has the word.
        let whole = [tool, Need::SHELL_RUN, "*"]
            .iter()
            .map(|name| self.about(name).iter().filter(is_any))
            .find_map(|rules| rules.min_by_key(|matcher| matcher.action));
        let found = some.or_else(|| whole.filter(forbids));
        found.map(|matcher| matcher.index)
    }

    /// Tells whether a layer denies a capability to a tool whatever the target.
    pub(super) fn bars(&self, layer: &Layer, tool: &str, capability: &str) -> bool {
        // Rules are about these under other names.
        let capability = match capability {
            Need::SHELL_UNREAD => Need::SHELL_OPAQUE,
            // It never comes without what it runs.
            Need::SHELL_WRAPPER | Need::SHELL_WORDS => return false,
            other => other,
        };
        let mut about = vec!["*", capability, tool];
        if capability == Need::SHELL_OPAQUE {
            about.push(Need::SHELL_RUN);
        }
        let all: Vec<&Matcher> = about.iter().flat_map(|name| self.about(name)).collect();
        let is_any = |matcher: &&Matcher| matches!(matcher.text, Pattern::Any);
        let denies_all = layer.closed || all.iter().any(is_any);
        denies_all && all.iter().all(|matcher| matcher.denies())
    }

    /// Tells whether a layer could deny, or ask about, something below a folder.
    ///
    /// It may say so of a folder where nothing comes of it, never the other way round.
    pub(super) fn withholds_below(
        &self,
        layer: &Layer,
        tool: &str,
        capability: &str,
        folder: &str,
    ) -> bool {
        let about = ["*", capability, tool];
        let all = || about.iter().flat_map(|name| self.about(name));
        let allows_all = |matcher: &Matcher| {
            matcher.action == Action::Allow && matches!(matcher.text, Pattern::Any)
        };
        let forbids = |matcher: &Matcher| {
            matcher.action != Action::Allow && matcher.text.may_fit_below(folder)
        };
        all().any(forbids) || (layer.closed && !all().any(allows_all))
    }

    /// Tells whether a rule for the tool itself, and none that excepts anything, denies all of it.
    pub(super) fn names(&self, tool: &str) -> bool {
        let own = self.about(tool);
        let is_any = |matcher: &Matcher| matches!(matcher.text, Pattern::Any);
        tool != "*" && own.iter().any(is_any) && own.iter().all(Matcher::denies)
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

impl Matcher {
    fn of(index: usize, rule: &Rule) -> Self {
        let pattern = rule.pattern.as_str();
        // A rule for `*` or for a tool may meet targets of every kind.
        let about = Capability::of(&rule.permission);
        let opaque = about == Some(Capability::ShellOpaque);
        let commands = opaque || matches!(about, Some(Capability::ShellRun) | None);
        let hosts = matches!(about, Some(Capability::NetFetch) | None);
        Self {
            index,
            action: rule.action,
            allows_commands: written::allows_commands(rule) && pattern != "*",
            weight: (Kind::of(pattern) as u8, literal(pattern.as_bytes())),
            text: Pattern::of(pattern),
            words: commands.then(|| Words::of(pattern)),
            opaque,
            host: hosts.then(|| HostPattern::of(pattern).ok()).flatten(),
        }
    }

    /// Returns the same for a command with more words: who forbids `rm` means `rm x` as well. Who allows
    /// `rm` does not.
    fn with_arguments(&self) -> Option<Self> {
        let words = self.words.as_ref().and_then(Words::with_arguments);
        let forbids = self.action != Action::Allow;
        words.filter(|_| forbids).map(|words| Self {
            index: self.index,
            action: self.action,
            allows_commands: false,
            weight: (Kind::Begins as u8, self.weight.1),
            text: self.text.clone(),
            words: Some(words),
            opaque: self.opaque,
            host: None,
        })
    }

    /// Tells whether it has no say about a target, although it may fit.
    fn is_silent_on(&self, target: &Target<'_>) -> bool {
        match target {
            // Its beginning says nothing of the rest, which nobody has looked at.
            Target::Unread(_) => self.action == Action::Allow && !matches!(self.text, Pattern::Any),
            // Who speaks of all commands speaks of the one that is run.
            Target::Wrapper(_) => self.words.as_ref().is_none_or(Words::is_all),
            // Who lets a script run has not let it be written.
            Target::Redirected(_) => self.allows_commands,
            Target::Text(_)
            | Target::Opaque(..)
            | Target::Command(_)
            | Target::Host(_)
            | Target::Call(_) => false,
        }
    }

    fn denies(&self) -> bool {
        self.action == Action::Deny
    }

    fn weight(&self, target: &Target<'_>) -> (u8, usize) {
        let words = self.words.as_ref();
        match (target, &self.host) {
            (Target::Host(_), Some(host)) => host.weight(),
            // Blanks and quotes make no rule more specific.
            (Target::Command(_) | Target::Wrapper(_) | Target::Opaque(..), _) => {
                words.map_or(self.weight, Words::weight)
            }
            // Each of an agent's names is all of it, however long.
            (Target::Call(_), _) if self.weight.0 == Kind::Exact as u8 => (self.weight.0, 0),
            _ => self.weight,
        }
    }

    fn fit(&self, target: &Target<'_>) -> Option<Fit> {
        match target {
            Target::Text(text) | Target::Redirected(text) | Target::Unread(text) => {
                self.text.fits(text).then_some(Fit::Surely)
            }
            Target::Opaque(text, argv) => {
                let as_text = self.text.fits(text).then_some(Fit::Surely);
                // However it is written, it is what is forbidden.
                let words = self.words.as_ref().filter(|_| self.opaque);
                let words = words.filter(|_| self.action != Action::Allow);
                as_text.or_else(|| words?.fit_however(argv))
            }
            // Who forbids one of its names forbids what has it.
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
        }
    }
}

/// What was found so far in a layer.
struct Search {
    best: Option<(Weight, Action, usize)>,
    /// A rule that forbids, or asks, if open words become what it names.
    doubt: Option<usize>,
    /// Whether a rule was found that names what is opaque.
    is_named: bool,
}

impl Search {
    fn look(&mut self, matchers: &[Matcher], wanted: &Wanted<'_>, named: u8, most: Action) {
        // Who denies everything denies all that calls need, and those of the engine's own need nothing.
        let needs = |matcher: &&Matcher| !(wanted.is_call() && named == 0 && matcher.denies());
        let speaks = |matcher: &&Matcher| !matcher.is_silent_on(&wanted.target);
        let counts = |matcher: &&Matcher| matcher.action <= most || !self.is_named;
        let matchers: Vec<&Matcher> = matchers.iter().filter(counts).collect();
        for matcher in matchers.into_iter().filter(needs).filter(speaks) {
            let (kind, literal) = matcher.weight(&wanted.target);
            let weight = (kind, literal, named);
            let action = matcher.action.min(most);
            let loses = !self.wins(weight, action);
            // Only a rule that could be in doubt has a say without winning.
            let may_doubt = self.doubt.is_none() && action != Action::Allow && wanted.may_fit();
            if loses && !may_doubt {
                continue;
            }
            match matcher.fit(&wanted.target) {
                Some(Fit::Surely) => self.take(weight, action, matcher.index),
                Some(Fit::Maybe) if action != Action::Allow => {
                    self.doubt.get_or_insert(matcher.index);
                }
                Some(Fit::Maybe) | None => {}
            }
        }
    }

    /// The most specific rule; on a tie the strictest, for which `Deny` sorts first.
    fn wins(&self, weight: Weight, action: Action) -> bool {
        let best = self.best.as_ref();
        best.is_none_or(|(so_far, said, _)| weight.cmp(so_far).then(said.cmp(&action)).is_gt())
    }

    fn take(&mut self, weight: Weight, action: Action, index: usize) {
        if self.wins(weight, action) {
            self.best = Some((weight, action, index));
        }
    }

    fn word(self, layer: &Layer, closed: bool) -> Option<Word<'_>> {
        let (action, rule, in_doubt) = match (self.best, self.doubt) {
            // What may be forbidden is not allowed without a word.
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

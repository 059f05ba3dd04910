//! Which type makes a step next, as a function of how far each type has come.
//!
//! Make before break, also when a stream is several changes behind on several types: first every type's
//! additions, in the order in which they depend on each other, and only when there are none left the
//! removals, in reverse. Removals that nothing has to wait for leave with the additions.
//!
//! Order alone is not enough for clusters that take their endpoints from EDS: the client asks for these only when it
//! has the cluster, so that a route sent right behind it would point at a cluster that is not in use yet. What may
//! point at clusters waits until the client has acknowledged the new ones of the newest response, and their endpoints
//! are there or known to be missing, or until that has taken too long (`waiting`). What a client has newly asked for
//! does not wait: it asks in an order of its own. Clusters and endpoints are removed only after new clusters are
//! warm: the route that stops using them may not have arrived yet. Those that the client has by name are removed only when
//! it has left them (`held_removals`).

use weir_types::Kind;

/// How far one type on a stream has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypeProgress {
    pub(super) kind: Kind,
    pub(super) additions: Additions,
    pub(super) removals: Removals,
}

/// Whether a type has additions to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Additions {
    None,
    /// Changes of what the client has.
    Pushed,
    /// The client waits for them: it has just asked for some, or has had no response yet.
    Awaited,
}

/// Whether a type has removals to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removals {
    None,
    Pending,
    /// Of names that the client may still send requests to.
    InUse,
}

/// The part of a difference that a step is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Portion {
    /// Additions, and the removals with them.
    Whole,
    /// Additions, while the removals stay behind.
    Additions,
    /// Removals, when there are no additions.
    Removals,
}

/// The step that is made next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NextStep {
    /// The place of its type.
    pub(super) index: usize,
    pub(super) portion: Portion,
}

/// The step that is made next by one of `types`, which are in the order in which additions leave, while the clusters that
/// were sent last are warming or not.
pub(super) fn next_step(
    types: impl Iterator<Item = TypeProgress> + Clone,
    clusters_are_warming: bool,
) -> Option<NextStep> {
    let (mut has_additions, mut last_removals) = (false, None);
    for (index, progress) in types.clone().enumerate() {
        if progress.may_add(clusters_are_warming) {
            let defers = defers_removals(types, index, clusters_are_warming);
            return Some(NextStep {
                index,
                portion: if defers { Portion::Additions } else { Portion::Whole },
            });
        }
        has_additions |= progress.has_additions();
        if progress.may_remove(clusters_are_warming) {
            last_removals = Some(NextStep { index, portion: Portion::Removals });
        }
    }
    // Additions that wait for clusters go before any removal.
    last_removals.filter(|_| !has_additions)
}

impl NextStep {
    /// Whether something has to leave before this step, or before its removals, now that its types have come this far.
    pub(super) fn is_overtaken(
        self,
        types: impl Iterator<Item = TypeProgress> + Clone,
        clusters_are_warming: bool,
    ) -> bool {
        types.clone().take(self.index).any(|progress| progress.may_add(clusters_are_warming))
            || defers_removals(types, self.index, clusters_are_warming)
                != (self.portion == Portion::Additions)
    }
}

impl TypeProgress {
    fn has_additions(self) -> bool {
        self.additions != Additions::None
    }

    /// Whether there are additions that nothing has to come before.
    fn may_add(self, clusters_are_warming: bool) -> bool {
        match self.additions {
            Additions::None => false,
            Additions::Pushed => !(refers_to_clusters(self.kind) && clusters_are_warming),
            Additions::Awaited => true,
        }
    }

    /// Whether there are removals that nothing has to come before but additions.
    fn may_remove(self, clusters_are_warming: bool) -> bool {
        self.removals != Removals::None && !self.keeps_removals(clusters_are_warming)
    }

    /// Whether what is removed may be in use: clusters that replace it are not ready yet, or the client has not left it.
    fn keeps_removals(self, clusters_are_warming: bool) -> bool {
        is_referred_to(self.kind) && (clusters_are_warming || self.removals == Removals::InUse)
    }
}

/// Whether resources of this kind determine which clusters requests go to.
fn refers_to_clusters(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Listener | Kind::ScopedRouteConfiguration | Kind::RouteConfiguration | Kind::VirtualHost
    )
}

/// Whether requests go to resources of this kind.
pub(super) fn is_referred_to(kind: Kind) -> bool {
    matches!(kind, Kind::Cluster | Kind::ClusterLoadAssignment)
}

/// Whether removals of the type at `index` stay behind while additions leave.
fn defers_removals(
    types: impl Iterator<Item = TypeProgress> + Clone,
    index: usize,
    clusters_are_warming: bool,
) -> bool {
    let keeps_removals = |progress: TypeProgress| progress.keeps_removals(clusters_are_warming);
    types.clone().nth(index).is_some_and(keeps_removals) || others_have_additions(types, index)
}

fn others_have_additions(types: impl Iterator<Item = TypeProgress>, index: usize) -> bool {
    types.enumerate().any(|(other, progress)| other != index && progress.has_additions())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clusters, endpoints, routes and secrets, by what each has: `+` additions, `!` additions that the client waits
    /// for, `-` removals, `u` removals of what is in use.
    fn types(have: [&'static str; 4]) -> impl Iterator<Item = TypeProgress> + Clone {
        let kinds = [Kind::Cluster, Kind::ClusterLoadAssignment, Kind::RouteConfiguration, Kind::Secret];
        kinds.into_iter().zip(have).map(|(kind, has)| TypeProgress {
            kind,
            additions: match has {
                _ if has.contains('!') => Additions::Awaited,
                _ if has.contains('+') => Additions::Pushed,
                _ => Additions::None,
            },
            removals: match has {
                _ if has.contains('u') => Removals::InUse,
                _ if has.contains('-') => Removals::Pending,
                _ => Removals::None,
            },
        })
    }

    fn step(index: usize, portion: Portion) -> Option<NextStep> {
        Some(NextStep { index, portion })
    }

    #[test]
    fn o01_the_next_step_follows_from_what_each_type_has() {
        for (have, warming, next) in [
            (["", "", "", ""], false, None),
            (["+", "+", "+", "+"], false, step(0, Portion::Additions)),
            (["-", "+", "", ""], false, step(1, Portion::Whole)),
            (["-", "+-", "+", ""], false, step(1, Portion::Additions)),
            (["-", "-", "", ""], false, step(1, Portion::Removals)),
            (["-", "-", "-", "-"], false, step(3, Portion::Removals)),
        ] {
            assert_eq!(next_step(types(have), warming), next, "{have:?}");
        }
    }

    #[test]
    fn o04_the_next_step_does_not_refer_to_clusters_that_warm() {
        for (have, next) in [
            (["", "", "+", ""], None),
            (["", "", "+", "-"], None),
            (["", "", "+", "+"], step(3, Portion::Additions)),
            (["", "", "!", ""], step(2, Portion::Whole)),
            (["+-", "", "", ""], step(0, Portion::Additions)),
            (["-", "-", "", ""], None),
            (["-", "-", "-", ""], step(2, Portion::Removals)),
        ] {
            assert_eq!(next_step(types(have), true), next, "{have:?}");
        }
    }

    #[test]
    fn o05_the_next_step_does_not_remove_what_is_in_use() {
        for (have, next) in [
            (["u", "u", "", ""], None),
            (["u", "u", "-", ""], step(2, Portion::Removals)),
            (["-", "u", "", ""], step(0, Portion::Removals)),
            (["+u", "u", "", ""], step(0, Portion::Additions)),
            (["u", "!u", "", ""], step(1, Portion::Additions)),
            (["u", "", "+-", ""], step(2, Portion::Whole)),
        ] {
            assert_eq!(next_step(types(have), false), next, "{have:?}");
        }
    }

    #[test]
    fn o01_a_step_is_overtaken_by_what_has_to_leave_before_it() {
        for (before, after, overtaken) in [
            (["", "+", "", ""], ["+", "+", "", ""], true),
            (["", "+", "", ""], ["", "+-", "", ""], false),
            (["", "+", "", ""], ["", "+", "+", ""], true),
            (["", "+", "+", ""], ["+", "+", "+", ""], true),
            (["+", "+", "", ""], ["+", "+", "+", ""], false),
            (["-", "", "", ""], ["-", "", "-", ""], false),
            (["-", "", "", ""], ["+-", "", "", ""], false),
            (["-", "", "", ""], ["-", "", "+", ""], true),
        ] {
            let step = next_step(types(before), false).expect("there is something to send");
            assert_eq!(step.is_overtaken(types(after), false), overtaken, "{before:?} {after:?}");
        }
    }
}

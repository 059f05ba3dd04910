//! Whether all that is wanted of a type has been answered, without a look at all of it after each response.

use weir_types::{DynamicParameters, Name};

use super::upstream_type::UpstreamType;

/// How far the answers have come, as of the last look.
#[derive(Debug, Default)]
pub(super) enum Progress {
    /// Something has changed that only another look can find.
    #[default]
    Unknown,
    /// This locator was not answered.
    Waits(Name, DynamicParameters),
    /// All were. That stays so until something is asked for, or asked for again.
    Done,
}

impl UpstreamType {
    /// Whether everything that is wanted is settled.
    pub(super) fn is_settled(&mut self) -> bool {
        match &self.progress {
            Progress::Waits(name, parameters) if self.waits_for(name, parameters) => return false,
            Progress::Done => {}
            Progress::Unknown | Progress::Waits(..) => {
                let open = self.first_unsettled();
                self.progress = open.map_or(Progress::Done, |(name, parameters)| {
                    Progress::Waits(name.clone(), parameters.clone())
                });
            }
        }
        let settled = matches!(self.progress, Progress::Done);
        debug_assert!(!settled || self.first_unsettled().is_none(), "unsettled without a word");
        settled
    }

    /// Notes that something wanted may have to be answered that was not, or was already.
    pub(super) fn unsettle(&mut self) {
        self.progress = Progress::Unknown;
    }

    fn waits_for(&self, name: &Name, parameters: &DynamicParameters) -> bool {
        let state = self.wanted.get(name).and_then(|sets| sets.get(parameters));
        state.is_some_and(|state| !state.is_settled())
    }

    fn first_unsettled(&self) -> Option<(&Name, &DynamicParameters)> {
        let sets = self.wanted.iter();
        let mut all = sets.flat_map(|(name, sets)| sets.iter().map(move |(of, state)| (name, of, state)));
        let unsettled = all.find(|(_, _, state)| !state.is_settled());
        unsettled.map(|(name, parameters, _)| (name, parameters))
    }
}

//! Servers that stand in for each other: what is sent to another one, and what makes one show that it is alive.

use super::UpstreamSession;

impl UpstreamSession {
    /// What is held came from another server than the one that comes next, which may mean other things by the same
    /// versions. It will be stated none, and so has to send or remove all of it. Nothing is withdrawn.
    pub fn forget_versions(&mut self) {
        for upstream_type in self.types.values_mut() {
            upstream_type.cache.forget_versions();
            upstream_type.version = None;
        }
    }

    /// Of a stream that was just opened: leaves out a little of what is held, so that a server that is alive has to
    /// send it again. False where nothing is held.
    pub fn demand_answer(&mut self) -> bool {
        let mut holding = self.types.values_mut().filter(|upstream_type| !upstream_type.cache.is_empty());
        holding.next().map(|upstream_type| upstream_type.per_stream.exchange.force_response()).is_some()
    }

    /// A stream that holds nothing and wants, of what is wanted here, what a server is most likely to have and costs
    /// it least: a name that is served. Everything, where there is none.
    pub fn sample(&self) -> Self {
        let mut sample = Self::new(self.settings.clone());
        let wanted = || {
            let types = self.types.iter();
            types.flat_map(|(type_url, upstream_type)| {
                upstream_type.locators().map(move |(l, _)| (type_url, upstream_type, l))
            })
        };
        let served = wanted().find(|(_, upstream_type, locator)| {
            !locator.is_collection()
                && upstream_type.is_served(&self.settings.naming, &locator.name, &locator.parameters)
        });
        match served {
            Some((type_url, _, locator)) => sample.subscribe(type_url, locator),
            None => wanted().for_each(|(type_url, _, locator)| sample.subscribe(type_url, locator)),
        }
        sample
    }
}

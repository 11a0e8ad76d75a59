//! The listener of many visitors, of which each has a visit of its own.

use servent::unicast::{Endpoint, MeetNews};
use servent_core::meet::MeetSide;

use super::{FoundPeer, MeetStep, ViaPlace};
use crate::exit::{Exit, Failure};
use crate::progress::Reporter;

impl ViaPlace {
    /// Waits for one caller, until it has been introduced: from then on the place has a seat
    /// for the next. `waits` is called when the place has given us ours.
    pub(crate) async fn one_caller(
        &self,
        endpoint: &Endpoint,
        (waits, reporter): (impl Fn(), &Reporter),
    ) -> Result<MeetNews, Failure> {
        let mut news = self.visit(endpoint, MeetSide::Listener, reporter).await?;
        loop {
            match self.step(&mut news, reporter).await {
                None => return Err(Failure::new(Exit::Failed, "the endpoint has ended")),
                Some(MeetStep::Waits) => waits(),
                Some(MeetStep::Introduced) => return Ok(news),
                // It is introduced first.
                Some(MeetStep::Met { .. }) => {}
                Some(MeetStep::Failed(why)) => return Err(self.failed(MeetSide::Listener, why)),
            }
        }
    }

    /// Finds a caller that was introduced.
    pub(crate) async fn find_caller(
        &self,
        mut news: MeetNews,
        reporter: &Reporter,
    ) -> Result<FoundPeer, Failure> {
        loop {
            match self.step(&mut news, reporter).await {
                None => return Err(Failure::new(Exit::Failed, "the endpoint has ended")),
                Some(MeetStep::Met { peer, at, relayed }) => {
                    return Ok(FoundPeer { peer, at, relayed, news });
                }
                Some(MeetStep::Failed(why)) => return Err(self.failed(MeetSide::Listener, why)),
                Some(MeetStep::Waits | MeetStep::Introduced) => {}
            }
        }
    }
}

//! What is shared behind a router, by a link such as `meet://CODE@HOST/PATH`: the servent
//! is found through the meeting place at that host, and for the downloads it has an
//! address of its own ([`servent::route_address`]).

mod route;

use std::sync::Arc;

use servent::{Proxies, route_address};

use self::route::MeetRoute;
use crate::cli::finding::link::{MeetLink, SCHEME};
use crate::cli::finding::via::split;
use crate::exit::Failure;
use crate::progress::{Voice, name_servent};

/// The most servents that are met because they were found.
const FOUND: usize = 8;

/// Splits the links off: the addresses as downloads know them, and where they lead.
///
/// # Errors
/// A link without a code, or two that lead to different servents.
pub(super) fn split_links(urls: &[String]) -> Result<(Vec<String>, Option<MeetLink>), Failure> {
    let (plain, mut links) = split_each(urls)?;
    if links.len() > 1 {
        return Err(
            Failure::usage("the links lead to different servents").next("run one command for each")
        );
    }
    Ok((plain, links.pop()))
}

/// The same for links that were found, which may lead to several servents.
///
/// # Errors
/// A link without a code.
pub(super) fn split_each(urls: &[String]) -> Result<(Vec<String>, Vec<MeetLink>), Failure> {
    let (mut plain, mut links, mut meetings) = (Vec::new(), Vec::new(), Vec::new());
    for url in urls {
        let Some(rest) = MeetLink::behind_scheme(url) else {
            plain.push(url.clone());
            continue;
        };
        let (link, path) = MeetLink::read(rest)?;
        let known = links.iter().position(|it| *it == link);
        let meeting = match known {
            Some(n) => meetings[n],
            None => {
                let (secret, _) = split(&link.code)?;
                let host = rest.split('/').next().unwrap_or_default();
                let shown = format!("{SCHEME}{host}");
                name_servent(route_address(secret.meeting), &shown, &link.place);
                links.push(link);
                meetings.push(secret.meeting);
                secret.meeting
            }
        };
        plain.push(format!("http://{}{path}", route_address(meeting)));
    }
    Ok((plain, links))
}

/// The ways to all servents that are met.
pub(super) struct MeetRoutes(Vec<Arc<MeetRoute>>);

impl MeetRoutes {
    /// Finds the servent that the user named; from then on downloads reach it. With those
    /// that were found, which may be reached otherwise, it only begins to meet.
    pub(super) async fn open(
        named: Option<MeetLink>,
        found: Vec<MeetLink>,
        (proxies, voice): (&Proxies, Voice),
    ) -> Result<Self, Failure> {
        let mut routes = Vec::new();
        let found: Vec<MeetLink> =
            found.into_iter().filter(|link| named.as_ref() != Some(link)).collect();
        if let Some(link) = named {
            let route = MeetRoute::new(link, proxies, voice).await?;
            route.open_now().await?;
            routes.push(route);
        }
        for link in found.into_iter().take(FOUND) {
            let route = MeetRoute::new(link, proxies, voice).await?;
            tokio::spawn(Arc::clone(&route).begin(voice));
            routes.push(route);
        }
        Ok(Self(routes))
    }

    /// Says goodbye to all.
    pub(super) async fn leave(self) {
        futures::future::join_all(self.0.iter().map(|route| route.leave())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "meet://ocean-pepper-violin-garden-moon@place.example.org";

    #[test]
    fn a_link_becomes_an_address_and_the_place_is_kept() {
        let (plain, link) = split_links(&[format!("{LINK}/Music/a.ogg"), LINK.into()]).unwrap();
        assert!(plain[0].starts_with("http://[fd73:6577:") && plain[0].ends_with("/Music/a.ogg"));
        assert!(plain[1].ends_with("]:6346/"), "{plain:?}");
        assert_eq!(link.unwrap().place, "place.example.org");
        let url = "http://10.0.0.7:6346/a".to_owned();
        assert_eq!(split_links(std::slice::from_ref(&url)).unwrap(), (vec![url], None));
        let found = ["meet://ocean-pepper-violin-garden-moon@10.0.0.7:6349/a", LINK, LINK];
        let (plain, links) = split_each(&found.map(str::to_owned)).unwrap();
        assert_eq!((plain.len(), links.len()), (3, 2), "found ones lead to several servents");
    }

    #[test]
    fn what_leads_nowhere_is_no_link() {
        let other = "meet://ocean-pepper-violin-garden-moon@example.net/";
        for wrong in [&[LINK, other][..], &["meet://ocean-pepper@place/"], &["meet://a-b-c@/"]] {
            let wrong: Vec<String> = wrong.iter().map(|url| (*url).to_owned()).collect();
            assert!(split_links(&wrong).is_err(), "{wrong:?}");
        }
    }
}

//! What the five texts require, one test and more for each id.

#[path = "../support/fetch_support/mod.rs"]
mod fetch_support;
#[path = "../support/queue_support/mod.rs"]
mod queue_support;
#[path = "../support/routing_support/mod.rs"]
mod routing_support;
#[path = "../support/swarm_support/mod.rs"]
mod swarm_support;
#[path = "../support/unicast_support/mod.rs"]
mod unicast_support;

mod aq;
mod aq_client;
mod aq_wire;
mod pa;
mod pa_meet;
mod pa_meet_budget;
mod pa_meet_ends;
mod pa_meet_flood;
mod pa_meet_owners;
mod pa_meet_proof;
mod pa_meet_queue;
mod pa_meet_turns;
mod pa_reader;
mod pa_route;
mod pa_window;
mod pq;
mod pq_client;
mod pq_order;
mod pq_restart;
mod pq_wire;
mod qa;
mod qa_leave;
mod qa_turns;
mod rt;
mod rt_peers;
mod sw;
mod sw_credit;
mod sw_crowd;
mod sw_ends;
mod sw_source;
mod uc;
mod uc_congestion;
mod uc_ends;
mod uc_lies;
mod uc_life;
mod wb;

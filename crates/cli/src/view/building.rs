//! Scenes are built on a thread of their own: what runs goes on, and pages are heard, however long that takes.

use super::session::Client;
use super::stage::Stage;
use crate::source::Source;
use linkwork_scenes::Entry;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use tokio::sync::oneshot;

/// What is to be built.
pub enum Plan {
    /// A scene of the registry with these parameters.
    Entry(&'static Entry, Vec<(String, f64)>),
    /// A scene that a page brought, and whom to tell how that went.
    Source(Box<Source>, oneshot::Sender<Result<(), String>>),
}

impl Plan {
    fn name(&self) -> &str {
        match self {
            Plan::Entry(entry, _) => entry.name,
            Plan::Source(source, _) => &source.name,
        }
    }
}

/// How a building went.
pub struct Built {
    /// Who wanted it.
    pub client: Client,
    /// Whom to tell, if it is not the page itself.
    pub reply: Option<oneshot::Sender<Result<(), String>>>,
    /// What came of it.
    pub stage: Result<Stage, String>,
}

struct Work {
    client: Client,
    name: String,
    reply: Option<oneshot::Sender<Result<(), String>>>,
    result: Receiver<Result<Stage, String>>,
}

/// Builds one scene at a time; of those that are wanted meanwhile only the last.
#[derive(Default)]
pub struct Builder {
    work: Option<Work>,
    next: Option<(Client, Plan)>,
}

const OVERTAKEN: &str = "another scene was chosen meanwhile";

impl Builder {
    /// What is being built, or will be next.
    pub fn name(&self) -> Option<&str> {
        let next = self.next.as_ref().map(|(_, plan)| plan.name());
        next.or(self.work.as_ref().map(|work| work.name.as_str()))
    }

    /// Wants a scene built, instead of any that was wanted before.
    pub fn want(&mut self, client: Client, plan: Plan) {
        if let Some((_, Plan::Source(_, reply))) = self.next.replace((client, plan)) {
            // nobody waits for the answer any more if the page is gone
            let _ = reply.send(Err(OVERTAKEN.to_owned()));
        }
        if self.work.is_none() {
            self.begin();
        }
    }

    fn begin(&mut self) {
        let Some((client, plan)) = self.next.take() else { return };
        let (done, result) = channel();
        let name = plan.name().to_owned();
        let (build, reply): (Box<dyn FnOnce() -> Result<Stage, String> + Send>, _) = match plan {
            Plan::Source(source, reply) => (Box::new(move || Stage::build(*source)), Some(reply)),
            Plan::Entry(entry, settings) => {
                let build = move || {
                    let source = Source::of_entry(entry, &settings).map_err(|error| error.to_string())?;
                    Stage::build(source)
                };
                (Box::new(build), None)
            }
        };
        // nobody waits for the scene any more if the session has ended; without a thread the channel is closed, which is told
        let _ = std::thread::Builder::new().name("building".to_owned()).spawn(move || drop(done.send(build())));
        self.work = Some(Work { client, name, reply, result });
    }

    /// What has been built since the last call, unless something else is wanted by now.
    pub fn poll(&mut self) -> Option<Built> {
        let work = self.work.as_ref()?;
        let stage = match work.result.try_recv() {
            Ok(stage) => stage,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => {
                Err(format!("{} could not be built, by a fault of the engine; please report it", work.name))
            }
        };
        let Work { client, reply, .. } = self.work.take()?;
        if self.next.is_none() {
            return Some(Built { client, reply, stage });
        }
        if let Some(reply) = reply {
            let _ = reply.send(Err(OVERTAKEN.to_owned()));
        }
        self.begin();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn entry(name: &str) -> Plan {
        Plan::Entry(linkwork_scenes::find(name).unwrap(), Vec::new())
    }

    fn finished(builder: &mut Builder) -> Built {
        let begun = Instant::now();
        loop {
            if let Some(built) = builder.poll() {
                return built;
            }
            assert!(begun.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_last_one_wanted_is_built() {
        let mut builder = Builder::default();
        assert!(builder.poll().is_none() && builder.name().is_none());
        builder.want(1, entry("excavator"));
        let (reply, mut answer) = oneshot::channel();
        let source = Source::of_entry(linkwork_scenes::find("cradle").unwrap(), &[]).unwrap();
        builder.want(2, Plan::Source(Box::new(source), reply));
        builder.want(3, entry("four-bar"));
        assert_eq!(builder.name(), Some("four-bar"));
        assert_eq!(answer.try_recv().unwrap(), Err(OVERTAKEN.to_owned()));
        let built = finished(&mut builder);
        assert_eq!((built.client, &built.stage.unwrap().describe(1, 0, 0.01)["name"]), (3, &"four-bar".into()));
        assert!(builder.name().is_none() && builder.poll().is_none());
    }

    #[test]
    fn what_cannot_be_built_is_told() {
        let mut builder = Builder::default();
        let settings = vec![("pairs".to_owned(), -1.0)];
        builder.want(4, Plan::Entry(linkwork_scenes::find("scissor-lift").unwrap(), settings));
        let built = finished(&mut builder);
        assert_eq!(built.client, 4);
        assert!(built.stage.err().unwrap().contains("pairs"));
    }
}

//! The session: one simulation on a thread of its own, which all pages look at and act on.
//!
//! Pages never wait for each other and the simulation never waits for a page: orders come through a bounded queue, and
//! what is published replaces what was published before, whether anybody has fetched it or not.

use super::backlog::{Backlog, Next};
use super::building::{Builder, Built, Plan};
use super::frame::{Frame, Moment};
use super::orders::{Order, Watch};
use super::particle_grip::{self, ParticleGrip};
use super::spring::Grip;
use super::stage::{Held, Stage};
use crate::args::{ContactName, MethodName, SolveOptions, StepperName, name_of};
use crate::record::Warnings;
use crate::source::Source;
use crate::time::{self, Stopwatch};
use clap::ValueEnum;
use linkwork::glam::DVec3;
use linkwork::{StepParams, StepReport};
use linkwork_io::recording::Stats;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, oneshot, watch};

/// Time between frames.
const FRAME: Duration = Duration::from_micros(16_667);
/// Time between two lists of warnings.
const WARNINGS_PERIOD: Duration = Duration::from_millis(250);
/// Orders that may wait; a page that sends more is told so.
const QUEUE: usize = 1024;
/// Time between two looks at whether a scene is built.
const BUILDING_PERIOD: Duration = Duration::from_millis(5);
/// The pace is averaged over about so many seconds.
const PACE_SECONDS: f64 = 0.5;

/// Which page.
pub type Client = u64;

/// What the session is told, and by whom.
pub struct Envelope {
    /// The page.
    pub client: Client,
    /// What it wants.
    pub message: Message,
}

/// What the session is told.
pub enum Message {
    /// A page is there.
    Arrived,
    /// It is gone.
    Gone,
    /// It orders something.
    Order(Order),
    /// It brings a scene.
    Open(Box<Source>, oneshot::Sender<Result<(), String>>),
}

/// How to start.
pub struct Settings {
    /// Step size, s; that of the scene if absent.
    pub dt: Option<f64>,
    /// By which methods to step.
    pub solving: SolveOptions,
    /// Whether time runs from the beginning.
    pub playing: bool,
}

/// What pages see of a session.
#[derive(Clone)]
pub struct Published {
    /// The latest frame.
    pub frame: watch::Receiver<Arc<Frame>>,
    /// The scene, JSON.
    pub scene: watch::Receiver<Arc<str>>,
    /// Settings, JSON.
    pub status: watch::Receiver<Arc<str>>,
    /// Warnings, JSON.
    pub warnings: watch::Receiver<Arc<str>>,
    /// Sentences for one page or for all.
    pub notices: broadcast::Sender<(Option<Client>, Arc<str>)>,
    /// Takes orders.
    pub orders: SyncSender<Envelope>,
}

/// A simulation that is looked at.
pub struct Session {
    stage: Stage,
    scene: u32,
    revision: u32,
    /// Revision of the last reset.
    reset_at: u32,
    params: StepParams,
    /// Whether step size and gravity are the user's choice and not that of the scene.
    chosen: Chosen,
    builder: Builder,
    solving: SolveOptions,
    /// Simulated seconds per second; as fast as possible if absent.
    speed: Option<f64>,
    playing: bool,
    /// Steps that were ordered while time stands still and are not made yet, and what was ordered after them.
    backlog: Backlog,
    failed: bool,
    /// Simulated time that should have passed already, s.
    debt: f64,
    advanced_at: Instant,
    pace: f64,
    steps: u64,
    report: Option<StepReport>,
    step_seconds: f64,
    warnings: Warnings,
    warned_at: Instant,
    warnings_changed: bool,
    grips: BTreeMap<Client, Held>,
    watches: BTreeMap<Client, Watch>,
    watch: Watch,
    cost: Cost,
    frame: watch::Sender<Arc<Frame>>,
    scene_text: watch::Sender<Arc<str>>,
    status: watch::Sender<Arc<str>>,
    warnings_text: watch::Sender<Arc<str>>,
    notices: broadcast::Sender<(Option<Client>, Arc<str>)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Chosen {
    dt: bool,
    gravity: bool,
}

/// What stepping takes, and what showing takes from it: time on a processor, s, whatever else the machine does.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    stepping: f64,
    showing: f64,
}

impl Session {
    /// Starts a session on a thread of its own, which ends when nobody can give orders any more.
    pub fn start(stage: Stage, settings: Settings) -> std::io::Result<Published> {
        let (orders, received) = sync_channel(QUEUE);
        let (frame, frames) = watch::channel(Arc::default());
        let nothing: Arc<str> = Arc::from("");
        let (scene_text, scenes) = watch::channel(nothing.clone());
        let (status, statuses) = watch::channel(nothing.clone());
        let (warnings_text, warnings) = watch::channel(nothing);
        let (notices, _) = broadcast::channel(64);
        let published =
            Published { frame: frames, scene: scenes, status: statuses, warnings, notices: notices.clone(), orders };
        let dt = settings.dt.unwrap_or_else(|| stage.dt());
        let params = settings.solving.params(dt);
        let chosen = Chosen { dt: settings.dt.is_some(), gravity: false };
        let now = Instant::now();
        let mut session = Session {
            stage,
            scene: 1,
            revision: 0,
            reset_at: 0,
            params,
            chosen,
            builder: Builder::default(),
            solving: settings.solving,
            speed: Some(1.0),
            playing: settings.playing,
            backlog: Backlog::default(),
            failed: false,
            debt: 0.0,
            advanced_at: now,
            pace: 0.0,
            steps: 0,
            report: None,
            step_seconds: 0.0,
            warnings: Warnings::default(),
            warned_at: now,
            warnings_changed: true,
            grips: BTreeMap::new(),
            watches: BTreeMap::new(),
            watch: Watch::default(),
            cost: Cost::default(),
            frame,
            scene_text,
            status,
            warnings_text,
            notices,
        };
        session.publish_scene();
        session.publish_status();
        session.publish_warnings();
        session.publish_frame();
        std::thread::Builder::new().name("simulation".to_owned()).spawn(move || session.run(&received))?;
        Ok(published)
    }

    fn run(&mut self, orders: &Receiver<Envelope>) {
        let mut tick = Instant::now();
        loop {
            let wait = match (self.playing, self.backlog.is_empty()) {
                (true, _) => tick.saturating_duration_since(Instant::now()),
                (false, true) => Duration::from_secs(1),
                (false, false) => Duration::ZERO,
            };
            let wait = if self.builder.name().is_some() { wait.min(BUILDING_PERIOD) } else { wait };
            let mut changed = false;
            match orders.recv_timeout(wait) {
                Ok(envelope) => changed |= self.receive(envelope),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // no more than were waiting, or a page that never stops ordering would keep time from passing
            for envelope in orders.try_iter().take(QUEUE) {
                changed |= self.receive(envelope);
            }
            if let Some(built) = self.builder.poll() {
                self.take_over(built);
                changed = true;
            }
            let now = Instant::now();
            if self.playing && now >= tick {
                changed |= self.advance();
                tick = (tick + FRAME).max(Instant::now());
            } else if !self.playing {
                tick = now;
                changed |= self.make_ordered();
            }
            if changed {
                self.publish_frame();
            }
            if self.warnings_changed && self.warned_at.elapsed() >= WARNINGS_PERIOD {
                self.publish_warnings();
            }
        }
    }

    /// Steps for one frame of the pages; returns whether anything moved.
    fn advance(&mut self) -> bool {
        let begun = Instant::now();
        let elapsed = begun.duration_since(self.advanced_at).as_secs_f64();
        self.advanced_at = begun;
        let (dt, mut made) = (self.params.dt, 0);
        // more than is due in three frames is not made up for: the simulation is slower than asked for, and shown so
        self.debt = match self.speed {
            Some(speed) => (self.debt + elapsed * speed).min((3.0 * FRAME.as_secs_f64() * speed).max(dt)),
            None => f64::INFINITY,
        };
        while self.debt >= 0.999 * dt && self.playing && begun.elapsed() < FRAME {
            self.step();
            self.debt -= dt;
            made += 1;
        }
        if self.speed.is_none() {
            self.debt = 0.0;
        }
        let (seconds, weight) = (f64::from(made) * dt, (elapsed / PACE_SECONDS).min(1.0));
        if elapsed > 0.0 {
            self.pace += weight * (seconds / elapsed - self.pace);
        }
        made > 0
    }

    /// Does what waits, as much as a frame has time for: a slow scene still hears what pages say.
    fn make_ordered(&mut self) -> bool {
        let (begun, mut changed) = (Instant::now(), false);
        while begun.elapsed() < FRAME {
            match self.backlog.take() {
                Some(Next::Step) => {
                    self.step();
                    changed = true;
                }
                Some(Next::Order(client, order)) => changed |= self.carry_out(client, order),
                None => break,
            }
        }
        changed
    }

    /// Breaks off the steps that wait; orders that waited for them are carried out now.
    fn break_off(&mut self) {
        self.backlog.drop_steps();
        while let Some(Next::Order(client, order)) = self.backlog.take() {
            self.carry_out(client, order);
        }
    }

    fn step(&mut self) {
        let watch = Stopwatch::start();
        let result = self.stage.step(&self.params, self.grips.values());
        let elapsed = watch.elapsed();
        self.step_seconds = elapsed.wall;
        self.cost.stepping += elapsed.cpu;
        match result {
            Ok(report) => {
                self.steps += 1;
                for warning in &report.warnings {
                    self.warnings.note(warning, &self.stage.world);
                    self.warnings_changed = true;
                }
                self.failed = report.failed;
                self.report = Some(report);
            }
            Err(error) => {
                self.playing = false;
                self.backlog.drop_steps();
                self.failed = true;
                self.tell(None, "error", &format!("The simulation stopped: {error}"));
                self.publish_status();
            }
        }
    }

    /// Does as told; returns whether a new frame is due.
    fn receive(&mut self, envelope: Envelope) -> bool {
        let Envelope { client, message } = envelope;
        match message {
            Message::Arrived => {
                self.watches.insert(client, Watch::default());
                self.publish_status();
                true
            }
            Message::Gone => {
                self.grips.remove(&client);
                self.watches.remove(&client);
                self.combine_watches();
                self.publish_status();
                false
            }
            Message::Open(source, reply) => {
                self.builder.want(client, Plan::Source(source, reply));
                self.publish_status();
                false
            }
            Message::Order(order) if order.follows_steps() && !self.backlog.is_empty() => {
                if let Err(problem) = self.backlog.add_order(client, order) {
                    self.tell(Some(client), "error", &problem);
                }
                false
            }
            Message::Order(order) => self.carry_out(client, order),
        }
    }

    /// Does as told, or says why not; returns whether a new frame is due.
    fn carry_out(&mut self, client: Client, order: Order) -> bool {
        self.obey(client, order).unwrap_or_else(|problem| {
            self.tell(Some(client), "error", &problem);
            false
        })
    }

    fn obey(&mut self, client: Client, order: Order) -> Result<bool, String> {
        match order {
            Order::Play { on } => self.play(on),
            Order::Step { count } => {
                if self.playing {
                    self.play(false);
                }
                self.backlog.add_steps(count)?;
            }
            Order::Reset {} => {
                self.break_off();
                self.stage.reset();
                self.begin();
                self.revise();
                self.reset_at = self.revision;
            }
            Order::Speed { value } => self.speed = value,
            Order::Dt { value } => (self.params.dt, self.chosen.dt) = (value, true),
            Order::Tolerance { value } => self.solve(SolveOptions { tolerance: value, ..self.solving })?,
            Order::Method { name } => {
                let method: MethodName = named("method", &name)?;
                self.solve(SolveOptions { method, ..self.solving })?;
            }
            Order::Stepper { name } => {
                let stepper: StepperName = named("stepper", &name)?;
                self.solve(SolveOptions { stepper, ..self.solving })?;
            }
            Order::Contact { name } => {
                let contact: ContactName = named("contact solver", &name)?;
                self.solve(SolveOptions { contact, ..self.solving })?;
            }
            Order::Sleep { on } => self.solve(SolveOptions { sleep: on, ..self.solving })?,
            Order::Shock { on } => self.solve(SolveOptions { shock: on, ..self.solving })?,
            Order::Gravity { value } => {
                self.stage.world.set_gravity(value).map_err(|error| error.to_string())?;
                self.chosen.gravity = true;
            }
            Order::Scene { name, parameters } => {
                let entry = linkwork_scenes::find(&name).ok_or_else(|| format!("there is no scene \"{name}\""))?;
                self.builder.want(client, Plan::Entry(entry, parameters.into_iter().collect()));
            }
            Order::Drag { scene, body, point, target } => {
                let Some(&body) = self.stage.bodies.get(body).filter(|_| scene == self.scene) else { return Ok(false) };
                let grip = Grip { body, point: DVec3::from(point), target: DVec3::from(target) };
                self.grips.insert(client, Held::Body(grip));
                return Ok(false);
            }
            Order::DragParticle { scene, particle, target } => {
                if scene == self.scene {
                    let grip = ParticleGrip { particle, target: DVec3::from(target) };
                    self.grips.insert(client, Held::Particle(grip));
                }
                return Ok(false);
            }
            Order::NailParticle { scene, revision, particle } if scene == self.scene => {
                self.check_revision(revision)?;
                let is_held = self.stage.nail_particle(particle)?;
                self.revise();
                self.tell(Some(client), "info", if is_held { "The particle is nailed." } else { "The nail is out." });
            }
            Order::CreateParticle { scene, revision, target, to } if scene == self.scene => {
                self.check_revision(revision)?;
                particle_grip::create(&mut self.stage.world, target, to, self.params.dt)?;
                self.revise();
            }
            Order::AttachParticle { scene, revision, particle, to, body } if scene == self.scene => {
                self.check_revision(revision)?;
                let body =
                    body.map(|k| self.stage.bodies.get(k).copied().ok_or("there is no such body")).transpose()?;
                let told = particle_grip::attach(&mut self.stage.world, particle, to, body, self.params.dt)?;
                self.revise();
                self.tell(Some(client), "info", told);
            }
            Order::Release {} => {
                self.grips.remove(&client);
                return Ok(false);
            }
            Order::Nail { scene, body, point } if scene == self.scene => {
                self.stage.nail(body, point)?;
                self.revise();
            }
            Order::PullNails { scene, body } if scene == self.scene => {
                if self.stage.pull_nails(body) {
                    self.revise();
                }
            }
            Order::Motor { scene, joint, coordinate, motor } if scene == self.scene => {
                self.stage.set_motor(joint, &coordinate, motor)?;
            }
            Order::Nail { .. }
            | Order::NailParticle { .. }
            | Order::CreateParticle { .. }
            | Order::AttachParticle { .. }
            | Order::PullNails { .. }
            | Order::Motor { .. } => return Ok(false),
            Order::Watch(watch) => {
                self.watches.insert(client, watch);
                self.combine_watches();
                return Ok(true);
            }
        }
        self.publish_status();
        Ok(true)
    }

    /// Refuses what a page ordered before it knew of a reset: particles that were made are no more, or are others.
    fn check_revision(&self, revision: u32) -> Result<(), String> {
        match revision >= self.reset_at {
            true => Ok(()),
            false => Err("the scene went back to its start meanwhile; try again".to_owned()),
        }
    }

    /// Steps by other methods from now on, unless they do not go together.
    fn solve(&mut self, solving: SolveOptions) -> Result<(), String> {
        solving.check().map_err(|failure| failure.text().trim().to_owned())?;
        self.solving = solving;
        self.params = solving.params(self.params.dt);
        Ok(())
    }

    fn play(&mut self, on: bool) {
        self.break_off();
        if on && !self.playing {
            (self.debt, self.advanced_at, self.pace) = (0.0, Instant::now(), 0.0);
        }
        self.playing = on;
    }

    /// A scene has been built, or not: then all stays as it was.
    fn take_over(&mut self, built: Built) {
        let Built { client, reply, stage } = built;
        let opened = stage.map(|stage| self.open(stage));
        if opened.is_err() {
            self.publish_status();
        }
        match (reply, opened) {
            // nobody waits for the answer any more if the page is gone
            (Some(reply), opened) => drop(reply.send(opened)),
            (None, Err(problem)) => self.tell(Some(client), "error", &problem),
            (None, Ok(())) => {}
        }
    }

    /// Another scene, with its own step size and gravity; or the same with other parameters, and the user's choices.
    fn open(&mut self, mut stage: Stage) {
        self.break_off();
        if !stage.is_same_scene(&self.stage) {
            self.chosen = Chosen::default();
        }
        if !self.chosen.dt {
            self.params.dt = stage.dt();
        }
        if self.chosen.gravity {
            // it was allowed before
            let _ = stage.world.set_gravity(self.stage.world.gravity().to_array());
        }
        self.stage = stage;
        self.scene += 1;
        (self.revision, self.reset_at) = (0, 0);
        self.watches.values_mut().for_each(|watch| (watch.bodies, watch.joints) = Default::default());
        self.combine_watches();
        self.begin();
        self.publish_scene();
        self.publish_status();
    }

    /// Everything about the time that has passed is forgotten.
    fn begin(&mut self) {
        self.grips.clear();
        (self.steps, self.report, self.failed, self.step_seconds) = (0, None, false, 0.0);
        (self.debt, self.advanced_at) = (0.0, Instant::now());
        self.backlog.clear();
        self.warnings = Warnings::default();
        self.publish_warnings();
    }

    fn revise(&mut self) {
        self.revision += 1;
        self.publish_scene();
    }

    fn combine_watches(&mut self) {
        let mut all = Watch::default();
        for watch in self.watches.values() {
            all.bodies.extend(&watch.bodies);
            all.joints.extend(&watch.joints);
            all.velocities |= watch.velocities;
            all.reactions |= watch.reactions;
            all.contacts |= watch.contacts;
            all.sleeping |= watch.sleeping;
        }
        for numbers in [&mut all.bodies, &mut all.joints] {
            numbers.sort_unstable();
            numbers.dedup();
        }
        self.watch = all;
    }

    fn publish_frame(&mut self) {
        if self.watches.is_empty() && self.steps > 0 {
            return;
        }
        let begun = time::of_this_thread();
        let moment = Moment {
            world: &self.stage.world,
            bodies: &self.stage.bodies,
            joints: &self.stage.joints,
            scene: self.scene,
            revision: self.revision,
            playing: self.playing,
            failed: self.failed,
            steps: self.steps,
            stats: Stats::of(&self.stage.world, self.report.as_ref(), self.step_seconds),
            pace: self.pace as f32,
            watch: &self.watch,
        };
        self.frame.send_replace(Arc::new(moment.frame()));
        self.cost.showing += time::of_this_thread().saturating_sub(begun).as_secs_f64();
    }

    fn publish_scene(&self) {
        let text = self.stage.describe(self.scene, self.revision, self.params.dt).to_string();
        self.scene_text.send_replace(text.into());
    }

    fn publish_status(&self) {
        let status = json!({
            "type": "status",
            "scene": self.scene,
            "building": self.builder.name(),
            "playing": self.playing,
            "speed": self.speed,
            "dt": self.params.dt,
            "tolerance": self.params.tolerance,
            "method": name_of(&self.solving.method),
            "stepper": name_of(&self.solving.stepper),
            "contact": name_of(&self.solving.contact),
            "sleep": self.solving.sleep,
            "shock": self.solving.shock,
            "gravity": self.stage.world.gravity().to_array(),
            "pages": self.watches.len(),
            "motors": self.stage.changed_motors(),
            "cost": {"stepping_s": self.cost.stepping, "showing_s": self.cost.showing},
        });
        self.status.send_replace(status.to_string().into());
    }

    fn publish_warnings(&mut self) {
        let warnings = json!({
            "type": "warnings",
            "list": self.warnings.list(),
            "omitted": self.warnings.omitted(),
        });
        self.warnings_text.send_replace(warnings.to_string().into());
        (self.warned_at, self.warnings_changed) = (Instant::now(), false);
    }

    fn tell(&self, client: Option<Client>, level: &str, text: &str) {
        let notice = json!({"type": "notice", "level": level, "text": text}).to_string();
        // nobody may be there to be told
        let _ = self.notices.send((client, notice.into()));
    }
}

/// A choice by its name on the command line.
fn named<T: ValueEnum>(what: &str, name: &str) -> Result<T, String> {
    T::from_str(name, false).map_err(|_| {
        let all: Vec<String> = T::value_variants().iter().map(name_of).collect();
        format!("there is no {what} \"{name}\"; there are {}", all.join(", "))
    })
}

//! The jobs of one instance: who is admitted, and what is due.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use foldhash::fast::RandomState;

use super::super::Nanos;
use super::{Job, NewJob, Next, Origin, ShadowId, Step, Told};

/// How far jobs are numbered before numbers come again.
const NUMBERS: u32 = 1 << 27;

/// What all jobs of an instance have in common.
#[derive(Clone, Copy, Debug)]
pub struct ShadowOptions {
    /// Most jobs at once.
    pub max_in_flight: usize,
    /// Whether read deadlines are kept here, rather than by whoever reads.
    pub times_reads: bool,
}

/// The jobs of one instance.
pub struct Shadows {
    options: ShadowOptions,
    jobs: HashMap<ShadowId, Job, RandomState>,
    keys: HashSet<Rc<[u8]>, RandomState>,
    due: BTreeSet<(Nanos, ShadowId)>,
    next: u32,
    open: bool,
}

impl Shadows {
    /// No jobs.
    #[must_use]
    pub fn new(options: ShadowOptions) -> Self {
        Self {
            options,
            jobs: HashMap::default(),
            keys: HashSet::default(),
            due: BTreeSet::new(),
            next: 0,
            open: true,
        }
    }

    /// Admits a job; `None` when there is no room, or one of the same key is under way.
    pub fn admit(&mut self, facts: NewJob, now: Nanos) -> Option<ShadowId> {
        if self.jobs.len() >= self.options.max_in_flight || self.keys.contains(&facts.key) {
            return None;
        }
        while self.jobs.contains_key(&ShadowId(self.next)) {
            self.next = (self.next + 1) % NUMBERS;
        }
        let id = ShadowId(self.next);
        self.next = (self.next + 1) % NUMBERS;
        self.keys.insert(Rc::clone(&facts.key));
        let deadline = now.saturating_add(facts.timeout);
        let served = facts.origin == Origin::Served;
        let job = Job {
            facts,
            step: Step::Admitted,
            deadline,
            read_deadline: None,
            cached: served.then_some(true),
            has_source: false,
            dumped: None,
            barred: false,
            running: 0,
        };
        self.due.insert((deadline, id));
        self.jobs.insert(id, job);
        Some(id)
    }

    /// Tells a job, and answers what it does next.
    pub fn tell(&mut self, id: ShadowId, told: Told, now: Nanos) -> Next {
        let Some(job) = self.jobs.get_mut(&id) else {
            return Next::Stale;
        };
        if job.ends_work(told) {
            job.running = job.running.saturating_sub(1);
        }
        let mut next = Next::Stale;
        if job.step != Step::Over {
            let due = job.due_at();
            next = job.advance(told, now, self.open);
            if matches!(next, Next::Read | Next::Confirm) && self.options.times_reads {
                job.read_deadline = Some(job.read_until(now));
            }
            if next.begins_work() {
                job.running += 1;
            }
            if matches!(next, Next::Done(_)) {
                job.step = Step::Over;
                self.due.remove(&(due, id));
            } else if job.due_at() != due {
                self.due.remove(&(due, id));
                self.due.insert((job.due_at(), id));
            }
        }
        if job.step == Step::Over && job.running == 0 {
            self.forget(id);
        }
        next
    }

    /// Drops a job, whatever it does.
    pub fn forget(&mut self, id: ShadowId) {
        if let Some(job) = self.jobs.remove(&id) {
            self.due.remove(&(job.due_at(), id));
            self.keys.remove(&job.facts.key);
        }
    }

    /// The job of this number.
    #[must_use]
    pub fn get(&self, id: ShadowId) -> Option<&Job> {
        self.jobs.get(&id)
    }

    /// An id was invalidated: what was loaded before does not fill Redis.
    pub fn bar(&mut self, group: u64) {
        for job in self.jobs.values_mut() {
            job.barred |= job.facts.group == group;
        }
    }

    /// The Redis layer was turned off: nothing more is asked of it. Each job has to be told.
    pub const fn close(&mut self) {
        self.open = false;
    }

    /// When a job has to be told next that it is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Nanos> {
        self.due.first().map(|(at, _)| *at)
    }

    /// A job that has to be told that it is due at `now`. Each deadline comes once.
    pub fn pop_due(&mut self, now: Nanos) -> Option<ShadowId> {
        let &(at, id) = self.due.first()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        Some(id)
    }

    /// Jobs that hold a place, those included that are over and wait for what they began.
    #[must_use]
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Deadlines pending.
    #[must_use]
    pub fn timers(&self) -> usize {
        self.due.len()
    }
}

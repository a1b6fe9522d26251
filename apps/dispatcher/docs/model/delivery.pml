/*
 * What happens to one event with one delivery, step by step as the services commit them, while any process is killed and
 * Redis loses everything at any moment. The event shares its job with others, of which only this one matters here. What is
 * checked: an acknowledged event is delivered, or ends with a reason.
 * `npm run model` checks it, and checks that it fails without the sweeper. docs/design.md explains the mechanisms.
 */

/* How often each fault may happen. Without a limit on faults, no event would be sure to end. */
#ifndef KILLS
#define KILLS 2
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#define EXPIRIES 1
#define DEFERRALS 1
#define SPLITS 1
#define ATTEMPTS 2

mtype = { unknown, queued, dispatched }
mtype = { nothing, unscheduled, due, delivered, failed }
mtype = { absent, waiting, running }

/* PostgreSQL: one committed value each. */
mtype event = unknown
mtype delivery = nothing
byte attempts = 0
bool inFirstAttempts = false

/*
 * Redis: the jobs, and who holds the lock of a running one. Delayed jobs count as waiting. An event is in a list that was
 * published together, or in a job of its own, or after a repeat in both.
 */
mtype listJob = absent
mtype eventJob = absent
mtype deliveryJob = absent
byte listHolder
byte eventHolder
byte deliveryHolder

/* What is not used is zero, which keeps the number of states down. */
#define TAKEN_BY_ME(job, holder) (job == running && holder == _pid)
inline release(job, holder, state) { job = state; holder = 0 }

bool acknowledged = false
byte kills = 0, losses = 0, expiries = 0, deferrals = 0, splits = 0

#define ENDED (delivery == delivered || delivery == failed)

inline addEventJob() { if :: eventJob == absent -> eventJob = waiting :: else fi }
inline addDeliveryJob() { if :: deliveryJob == absent -> deliveryJob = waiting :: else fi }

/* The statement that dispatches an event in rows. */
inline writeRow() { event = dispatched; delivery = unscheduled; inFirstAttempts = true }

/* The statement that writes a delivery with the result of its first attempt. The second one writes nothing. */
inline recordFirst(result) {
  if
  :: event == queued -> event = dispatched; delivery = result; if :: result == due -> attempts++ :: else fi
  :: else
  fi
}

/* The statement that records any other result: a late success still counts, a late failure does not. */
inline recordSuccess() { delivery = delivered }
inline recordFailure() {
  if
  :: delivery == unscheduled || delivery == due ->
    attempts++;
    if :: attempts >= ATTEMPTS -> delivery = failed :: else -> delivery = due fi
  :: else
  fi
}

/*
 * Comes first in each step of a worker, which is one statement or one command: killed before the step is killed after the
 * one before. The job of a killed worker is found stalled and handed out again, if Redis still has it.
 */
inline mayBeKilled() {
  if
  :: true
  :: kills < KILLS ->
    kills++;
    if :: TAKEN_BY_ME(listJob, listHolder) -> release(listJob, listHolder, waiting) :: else fi;
    if :: TAKEN_BY_ME(eventJob, eventHolder) -> release(eventJob, eventHolder, waiting) :: else fi;
    if :: TAKEN_BY_ME(deliveryJob, deliveryHolder) -> release(deliveryJob, deliveryHolder, waiting) :: else fi;
    created = false;
    unwritten = false;
    inList = false;
    goto idle
  fi
}

active proctype ingest() {
  event = queued;
  /* Killed here, the caller has no answer and repeats the notice: the same key finds the same event. */
  acknowledged = true;
  atomic {
    if
    :: listJob = waiting
    :: kills < KILLS -> kills++
    fi
  }
}

active [2] proctype dispatcher() {
  bool created, unwritten, inList;
idle:
  do
  :: atomic {
      if
      :: listJob == waiting -> listJob = running; listHolder = _pid; inList = true
      :: eventJob == waiting -> eventJob = running; eventHolder = _pid; inList = false
      fi
    }
    /* No room for its conversion, or a failure on our side: the event goes on later, without the others. */
    atomic {
      if
      :: inList && splits < SPLITS -> splits++; mayBeKilled(); addEventJob(); goto ended
      :: true
      fi
    }
    /* Most events are only read here. Those without a body, or whose job was lost, get their rows at once. */
    atomic {
      mayBeKilled();
      created = false;
      if
      :: event == queued -> unwritten = true
      :: event == queued -> writeRow(); created = true
      :: else
      fi
    }
    /* The row of an unwritten delivery is needed before the result: it takes long, or no permit was free. */
    atomic {
      mayBeKilled();
      if
      :: unwritten
      :: unwritten -> unwritten = false; if :: event == queued -> writeRow(); created = true :: else fi
      :: !unwritten
      fi
    }
    /* The request is sent here. A worker that is killed from here on may have sent it, too. */
    atomic {
      mayBeKilled();
      if
      :: unwritten -> recordFirst(delivered)
      :: unwritten -> recordFirst(due)
      :: created -> recordSuccess()
      :: created -> recordFailure() /* also one that the lost worker may have made */
      :: created && deferrals < DEFERRALS -> deferrals++ /* no permit was free */
      :: !unwritten && !created
      fi;
      unwritten = false;
      created = false
    }
    /* A delivery that is not over continues in the deliveries queue. */
    atomic { mayBeKilled(); if :: delivery == unscheduled -> delivery = due :: else fi }
    atomic { mayBeKilled(); if :: delivery == due -> addDeliveryJob() :: else fi }
ended:
    atomic {
      mayBeKilled();
      if
      :: inList && TAKEN_BY_ME(listJob, listHolder) -> release(listJob, listHolder, absent)
      :: !inList && TAKEN_BY_ME(eventJob, eventHolder) -> release(eventJob, eventHolder, absent)
      :: else
      fi;
      inList = false
    }
    atomic { mayBeKilled(); if :: delivery != unscheduled -> inFirstAttempts = false :: else fi }

  :: atomic { deliveryJob == waiting -> deliveryJob = running; deliveryHolder = _pid }
    atomic {
      mayBeKilled();
      if
      :: delivery == due -> recordSuccess()
      :: delivery == due -> recordFailure()
      :: delivery == due && deferrals < DEFERRALS -> deferrals++
      :: delivery != due
      fi
    }
    atomic {
      mayBeKilled();
      if
      :: TAKEN_BY_ME(deliveryJob, deliveryHolder) && delivery == due -> release(deliveryJob, deliveryHolder, waiting)
      :: TAKEN_BY_ME(deliveryJob, deliveryHolder) && delivery != due -> release(deliveryJob, deliveryHolder, absent)
      :: else
      fi
    }
  od
}

#ifndef NO_SWEEPER
active proctype sweeper() {
  do
  :: atomic { event == queued && eventJob == absent && listJob == absent -> eventJob = waiting }
  :: atomic { inFirstAttempts && delivery != unscheduled -> inFirstAttempts = false }
  :: atomic { inFirstAttempts && eventJob == absent && listJob == absent -> eventJob = waiting }
  :: atomic { delivery == due && deliveryJob == absent -> deliveryJob = waiting }
  od
}
#endif

active proctype faults() {
  do
  :: atomic { losses < LOSSES -> losses++;
      release(listJob, listHolder, absent); release(eventJob, eventHolder, absent); release(deliveryJob, deliveryHolder, absent)
    }
  /* A worker that only stalls: its job goes to another one while it continues. */
  :: atomic { expiries < EXPIRIES && listJob == running -> expiries++; release(listJob, listHolder, waiting) }
  :: atomic { expiries < EXPIRIES && eventJob == running -> expiries++; release(eventJob, eventHolder, waiting) }
  :: atomic { expiries < EXPIRIES && deliveryJob == running -> expiries++; release(deliveryJob, deliveryHolder, waiting) }
  :: atomic { losses == LOSSES && expiries == EXPIRIES -> break }
  od
}

/* What is delivered stays delivered. */
ltl deliveredStays { [] ((delivery == delivered) -> [] (delivery == delivered)) }
/* Nothing that was acknowledged is lost. */
ltl nothingLost { [] (acknowledged -> <> ENDED) }

/*
 * The way of one event with one delivery, step by step as the services commit them, while any process is killed and Redis
 * loses everything at any moment. What is checked: an acknowledged event is delivered or ends with a reason.
 *
 * `npm run model` checks it, and checks that it fails without the sweeper. docs/design.md explains the mechanisms.
 */

/* How often each misfortune may happen. Without a bound nothing could be promised. */
#ifndef KILLS
#define KILLS 2
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#define EXPIRIES 1
#define DEFERRALS 1
#define ATTEMPTS 2

mtype = { unknown, queued, dispatched }
mtype = { nothing, unscheduled, due, delivered, failed }
mtype = { absent, waiting, running }

/* PostgreSQL: one committed value each. */
mtype event = unknown
mtype delivery = nothing
byte attempts = 0
bool inFirstAttempts = false

/* Redis: the jobs, and who holds the lock of a running one. Delayed jobs count as waiting. */
mtype eventJob = absent
mtype deliveryJob = absent
byte eventHolder
byte deliveryHolder

bool acknowledged = false
byte kills = 0, losses = 0, expiries = 0, deferrals = 0

#define ENDED (delivery == delivered || delivery == failed)

inline addEventJob() { if :: eventJob == absent -> eventJob = waiting :: else fi }
inline addDeliveryJob() { if :: deliveryJob == absent -> deliveryJob = waiting :: else fi }

/* The statement that records a result: a late success still counts, a late failure does not. */
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
    if :: eventJob == running && eventHolder == _pid -> eventJob = waiting :: else fi;
    if :: deliveryJob == running && deliveryHolder == _pid -> deliveryJob = waiting :: else fi;
    goto idle
  fi
}

active proctype ingest() {
  event = queued;
  /* Killed here, the caller has no answer and repeats the notice: the same key finds the same event. */
  acknowledged = true;
  atomic {
    if
    :: addEventJob()
    :: kills < KILLS -> kills++
    fi
  }
}

active [2] proctype dispatcher() {
  bool created;
idle:
  do
  :: atomic { eventJob == waiting -> eventJob = running; eventHolder = _pid }
    /* One statement freezes and creates. */
    atomic {
      mayBeKilled();
      if
      :: event == queued -> event = dispatched; delivery = unscheduled; inFirstAttempts = true; created = true
      :: else -> created = false
      fi
    }
    /* The request is on its way here, and so are those of a worker killed from here on. */
    atomic {
      mayBeKilled();
      if
      :: created -> recordSuccess()
      :: created -> recordFailure()
      :: created && deferrals < DEFERRALS -> deferrals++ /* no permit was free */
      :: !created
      fi;
      created = false
    }
    /* What is left of it continues in the deliveries queue. */
    atomic { mayBeKilled(); if :: delivery == unscheduled -> delivery = due :: else fi }
    atomic { mayBeKilled(); if :: delivery == due -> addDeliveryJob() :: else fi }
    atomic { mayBeKilled(); if :: eventJob == running && eventHolder == _pid -> eventJob = absent :: else fi }
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
      :: deliveryJob == running && deliveryHolder == _pid ->
        if :: delivery == due -> deliveryJob = waiting :: else -> deliveryJob = absent fi
      :: else
      fi
    }
  od
}

#ifndef NO_SWEEPER
active proctype sweeper() {
  do
  :: atomic { event == queued && eventJob == absent -> eventJob = waiting }
  :: atomic { inFirstAttempts && delivery != unscheduled -> inFirstAttempts = false }
  :: atomic { inFirstAttempts && eventJob == absent -> eventJob = waiting }
  :: atomic { delivery == due && deliveryJob == absent -> deliveryJob = waiting }
  od
}
#endif

active proctype misfortune() {
  do
  :: atomic { losses < LOSSES -> losses++; eventJob = absent; deliveryJob = absent }
  /* A worker that only stalls: its job goes to another one while it carries on. */
  :: atomic { expiries < EXPIRIES && eventJob == running -> expiries++; eventJob = waiting }
  :: atomic { expiries < EXPIRIES && deliveryJob == running -> expiries++; deliveryJob = waiting }
  :: atomic { losses == LOSSES && expiries == EXPIRIES -> break }
  od
}

/* What is delivered stays delivered. */
ltl deliveredStays { [] ((delivery == delivered) -> [] (delivery == delivered)) }
/* Nothing that was acknowledged is lost. */
ltl nothingLost { [] (acknowledged -> <> ENDED) }

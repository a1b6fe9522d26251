-- Up Migration

-- A notice that carries every part already determines what will be sent: its body is frozen with the event, before it is
-- dispatched, and never changes. A queued event without a body still has to be prepared.
alter table webhook_events
  drop constraint dispatched_events_have_a_body,
  add constraint dispatched_events_have_a_body check (state <> 'dispatched' or body is not null),
  add constraint purged_events_have_no_body check (state <> 'purged' or body is null);

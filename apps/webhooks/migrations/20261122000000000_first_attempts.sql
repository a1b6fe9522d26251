-- Up Migration

-- First attempts run under the job of their event, right after it was dispatched. Until each of them has ended or was put
-- into the queue, the event is listed here: reading this small table finds what a lost process left behind.
create table webhook_first_attempts (
  event_id text collate "C" primary key,
  since timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- A pending delivery without next_attempt_at is one of those. No index tells it from a finished one, so ending it with the
-- first attempt changes no index: every page has room for a second version of its rows (a HOT update).
alter table webhook_deliveries
  drop constraint pending_deliveries_are_due_some_time,
  add constraint only_pending_deliveries_are_due check (status = 0 or next_attempt_at is null),
  set (fillfactor = 50);

drop index webhook_deliveries_due_idx;
create index webhook_deliveries_due_idx on webhook_deliveries (next_attempt_at, id)
  where next_attempt_at is not null;
drop index webhook_deliveries_pending_idx;
create index webhook_deliveries_pending_idx on webhook_deliveries (endpoint_id) where next_attempt_at is not null;

-- All pending deliveries, without reading those that have ended.
create view webhook_pending_deliveries as
  select id, endpoint_id, event_id, next_attempt_at
  from webhook_deliveries where next_attempt_at is not null
  union all
  select d.id, d.endpoint_id, d.event_id, d.next_attempt_at
  from webhook_first_attempts f
  join webhook_deliveries d on d.event_id = f.event_id and d.status = 0 and d.next_attempt_at is null;

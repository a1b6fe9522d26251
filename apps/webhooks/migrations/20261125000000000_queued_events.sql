-- Up Migration

-- Which events are queued, in a small table instead of an index on their state: the state of an event then changes without
-- touching any index of a large table (a HOT update, for which every page has room), a tenth of the work. Triggers keep it, so that
-- no statement can forget to.
create table webhook_queued_events (
  event_id text collate "C" primary key
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

drop index webhook_events_queued_idx;
drop index webhook_events_samples_idx;
-- Samples: the newest frozen events of an account.
create index webhook_events_samples_idx on webhook_events (account_id, type, created_at desc, id desc)
  where target_endpoint_id is null;
alter table webhook_events set (fillfactor = 50);

-- As for deliveries: of a table with millions of rows, a fifth is a lot for retention to leave behind.
alter table webhook_events set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table webhook_attempts set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- Deliveries get their row with the result of their first attempt and hardly ever change again.
alter table webhook_deliveries set (fillfactor = 80);

create function webhook_events_queued() returns trigger language plpgsql as $$
begin
  insert into webhook_queued_events select id from added where state = 'queued';
  return null;
end $$;

create trigger queued after insert on webhook_events
  referencing new table as added for each statement execute function webhook_events_queued();

create function webhook_events_changed() returns trigger language plpgsql as $$
begin
  delete from webhook_queued_events where event_id = any (array(select id from changed where state <> 'queued'));
  insert into webhook_queued_events select id from changed where state = 'queued' on conflict do nothing;
  return null;
end $$;

create trigger changed after update on webhook_events
  referencing new table as changed for each statement execute function webhook_events_changed();

create or replace function webhook_events_gone() returns trigger language plpgsql as $$
begin
  delete from webhook_queued_events where event_id = any (array(select id from gone));
  delete from webhook_first_attempts where event_id = any (array(select id from gone));
  delete from webhook_deliveries where event_id = any (array(select id from gone));
  return null;
end $$;

insert into webhook_queued_events select id from webhook_events where state = 'queued';

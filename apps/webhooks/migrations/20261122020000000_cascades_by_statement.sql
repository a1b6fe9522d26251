-- Up Migration

-- A statement that inserts deliveries or attempts already holds their parent rows. A foreign key would look up and lock
-- each parent once more, row by row: a third of PostgreSQL's work for a delivery. The triggers below keep the other half
-- of the keys: they delete the children of an event, endpoint or delivery, once per statement.
alter table webhook_deliveries
  drop constraint webhook_deliveries_event_id_fkey,
  drop constraint webhook_deliveries_endpoint_id_fkey;
alter table webhook_attempts drop constraint webhook_attempts_delivery_id_fkey;

-- Functions and not parts of the statements that delete: a function takes a new snapshot when its turn comes, and so finds what was
-- committed while the deleting statement waited for a lock.
create function webhook_events_gone() returns trigger language plpgsql as $$
begin
  delete from webhook_deliveries where event_id = any (array(select id from gone));
  return null;
end $$;

create function webhook_endpoints_gone() returns trigger language plpgsql as $$
begin
  delete from webhook_deliveries where endpoint_id = any (array(select id from gone));
  return null;
end $$;

create function webhook_deliveries_gone() returns trigger language plpgsql as $$
begin
  delete from webhook_attempts where delivery_id = any (array(select id from gone));
  return null;
end $$;

create trigger gone after delete on webhook_events
  referencing old table as gone for each statement execute function webhook_events_gone();
create trigger gone after delete on webhook_endpoints
  referencing old table as gone for each statement execute function webhook_endpoints_gone();
create trigger gone after delete on webhook_deliveries
  referencing old table as gone for each statement execute function webhook_deliveries_gone();

-- Up Migration

-- Sending again what an endpoint missed in a time, a little at a time. The row is the job: whoever takes a step locks it, and what
-- the step did is committed with how far it came.
create table webhook_recoveries (
  id bigint generated always as identity primary key,
  account_id uuid not null,
  endpoint_id bigint not null references webhook_endpoints (id) on delete cascade,
  what text not null check (what in ('failed', 'all')),
  since timestamptz not null,
  until timestamptz not null,
  state text not null default 'running' check (state in ('running', 'done', 'cancelled', 'stopped')),
  matched integer not null check (matched >= 0),
  queued integer not null default 0 check (queued >= 0),
  -- How far it came in the log, oldest first.
  at_time timestamptz not null,
  at_id bigint not null default 0,
  stepped_at timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default now(),
  constraint recoveries_have_a_time check (since < until)
);
create index webhook_recoveries_endpoint_idx on webhook_recoveries (endpoint_id, id);
create index webhook_recoveries_account_idx on webhook_recoveries (account_id);
-- One at a time per endpoint; and the next step of any.
create unique index webhook_recoveries_running_idx on webhook_recoveries (endpoint_id) where state = 'running';
create index webhook_recoveries_step_idx on webhook_recoveries (stepped_at) where state = 'running';
create trigger refuse_deleted_accounts after insert on webhook_recoveries
  referencing new table as added for each statement execute function refuse_deleted_accounts();

-- What a recovery made. Set once, so that ending a delivery changes no index.
alter table webhook_deliveries add column recovery_id bigint;
create index webhook_deliveries_recovery_idx on webhook_deliveries (recovery_id) where recovery_id is not null;

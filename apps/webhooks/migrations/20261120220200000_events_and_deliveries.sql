-- Up Migration

-- One row per event, and the outbox at the same time: state queued means that it has not been dispatched yet.
-- Ids carry their time (evt_ + 12 hex digits of milliseconds + 20 random ones), so inserts touch the right edge of
-- every index on them, and the oldest events are a prefix of the primary key.
create table webhook_events (
  id text collate "C" primary key check (id ~ '^evt_[0-9a-f]{32}$'),
  account_id uuid not null,
  type text not null check (char_length(type) between 1 and 64),
  audio_id text check (char_length(audio_id) between 1 and 128),
  target_endpoint_id bigint references webhook_endpoints (id) on delete cascade,
  source text not null check (char_length(source) between 1 and 100),
  source_event_key text check (char_length(source_event_key) between 1 and 200),
  source_hash bytea check (octet_length(source_hash) = 32),
  -- The frozen envelope. Text rather than jsonb, so that every endpoint and every attempt gets the same bytes.
  body text,
  state text not null default 'queued' check (state in ('queued', 'dispatched', 'purged')),
  created_at timestamptz not null default now(),
  dispatched_at timestamptz,
  constraint keys_come_with_a_hash check ((source_event_key is null) = (source_hash is null)),
  constraint dispatched_events_have_a_body check ((state = 'dispatched') = (body is not null)),
  constraint dispatched_events_say_when check (state <> 'dispatched' or dispatched_at is not null)
);

-- Idempotent ingest: one event per caller and key, even with concurrent requests.
create unique index webhook_events_source_key_idx on webhook_events (source, source_event_key);
-- The sweeper: events that nobody dispatched.
create index webhook_events_queued_idx on webhook_events (created_at, id) where state = 'queued';
-- Samples: the newest frozen events of an account.
create index webhook_events_samples_idx on webhook_events (account_id, type, created_at desc, id desc)
  where state = 'dispatched' and target_endpoint_id is null;
-- Deleting a recording or an account.
create index webhook_events_account_idx on webhook_events (account_id, audio_id);
-- Removing the row of a deleted endpoint: finds the pings that target it.
create index webhook_events_target_idx on webhook_events (target_endpoint_id) where target_endpoint_id is not null;

-- One event to one endpoint.
create table webhook_deliveries (
  id bigint generated always as identity primary key,
  endpoint_id bigint not null references webhook_endpoints (id) on delete cascade,
  event_id text collate "C" not null references webhook_events (id) on delete cascade,
  event_type text not null,
  -- 0 for the original delivery; an operator's replays are 1, 2, …
  replay integer not null default 0 check (replay >= 0),
  status smallint not null default 0 check (status in (0, 1, 2)),
  attempts integer not null default 0 check (attempts >= 0),
  last_error text not null default '' check (char_length(last_error) <= 64),
  next_attempt_at timestamptz,
  created_at timestamptz not null default now(),
  delivered_at timestamptz,
  constraint pending_deliveries_are_due_some_time check ((status = 0) = (next_attempt_at is not null)),
  constraint delivered_deliveries_say_when check ((status = 1) = (delivered_at is not null)),
  constraint failed_deliveries_say_why check (status <> 2 or last_error <> '')
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- One delivery per event and endpoint, even if the event is dispatched again. Event first: it also finds the deliveries
-- of one event, and new rows go to its right edge.
create unique index webhook_deliveries_event_endpoint_idx on webhook_deliveries (event_id, endpoint_id, replay);
-- The sweeper and the gauges: what is due, oldest first.
create index webhook_deliveries_due_idx on webhook_deliveries (next_attempt_at, id) where status = 0;
-- Disabling or deleting an endpoint cancels what is pending.
create index webhook_deliveries_pending_idx on webhook_deliveries (endpoint_id) where status = 0;
-- The delivery log, newest first.
create index webhook_deliveries_log_idx on webhook_deliveries (endpoint_id, created_at desc, id desc);

-- Every attempt, for operators. Goes with its delivery after 30 days.
create table webhook_attempts (
  delivery_id bigint not null references webhook_deliveries (id) on delete cascade,
  number integer not null check (number >= 1),
  started_at timestamptz not null,
  duration_ms integer not null check (duration_ms >= 0),
  http_status smallint,
  error text not null default '' check (char_length(error) <= 64),
  url_version integer not null,
  created_at timestamptz not null default now(),
  primary key (delivery_id, number)
);

-- Audit trail of what operators did by hand.
create table operator_actions (
  id bigint generated always as identity primary key,
  operator text not null check (char_length(operator) between 1 and 200),
  action text not null check (char_length(action) between 1 and 64),
  detail jsonb not null check (jsonb_typeof(detail) = 'object'),
  created_at timestamptz not null default now()
);

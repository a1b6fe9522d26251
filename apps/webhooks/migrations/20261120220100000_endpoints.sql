-- Up Migration

-- Webhook endpoints. Lock order everywhere: endpoints before deliveries, each by ascending id.
create table webhook_endpoints (
  id bigint generated always as identity primary key,
  account_id uuid not null,
  url text not null check (char_length(url) between 1 and 2048),
  -- The normalized form of url: two URLs name the same receiver exactly when these are equal.
  url_href text not null,
  -- Incremented with every real change of the URL; failed attempts at an older URL do not count.
  url_version integer not null default 1 check (url_version >= 1),
  events text[] not null default '{}' check (cardinality(events) <= 50 and array_position(events, null) is null),
  secret_ciphertext bytea,
  secret_key_id text,
  status smallint not null default 1 check (status in (1, 2)),
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  disabled_at timestamptz,
  deleted_at timestamptz,
  constraint disabled_endpoints_say_since_when check ((status = 2) = (disabled_at is not null)),
  constraint deleted_endpoints_keep_no_secret check (
    (deleted_at is null) = (secret_ciphertext is not null) and (deleted_at is null) = (secret_key_id is not null)
  )
  -- The counters change with every batch of attempts. With room on the page and no index on them, that is a HOT update.
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- Listing, counting for the quota, and matching a new event against the endpoints of its account.
create index webhook_endpoints_account_idx on webhook_endpoints (account_id, id) where deleted_at is null;
-- The gauge of disabled endpoints.
create index webhook_endpoints_disabled_idx on webhook_endpoints (id) where status = 2 and deleted_at is null;
-- Deleting an account for good, its deleted endpoints included.
create index webhook_endpoints_deleted_idx on webhook_endpoints (account_id) where deleted_at is not null;

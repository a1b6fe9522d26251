-- Up Migration

-- Warnings to the owner of an endpoint that fails (decision 0185). The statement that counts failures writes them; a sender
-- claims a row by moving its next attempt ahead, so what a process that died had in hand becomes due again by itself.
-- A row names neither the account nor an address: both are looked up when it is sent.
create table webhook_endpoint_warnings (
  -- Also the Message-ID of the email.
  id uuid primary key default gen_random_uuid(),
  endpoint_id bigint not null references webhook_endpoints (id) on delete cascade,
  -- Failures in a row that caused it; the highest one disables the endpoint.
  threshold smallint not null check (threshold > 0),
  day date not null,
  failures integer not null check (failures >= threshold),
  last_error text not null,
  failed_at timestamptz not null,
  failing_since timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  -- Claims so far; also tells whether a sender still holds the row that it claimed.
  attempts integer not null default 0 check (attempts >= 0),
  -- Null once it has ended.
  next_attempt_at timestamptz default clock_timestamp(),
  outcome text check (outcome in ('sent', 'resolved', 'no_address', 'refused', 'expired')),
  constraint ended_warnings_have_an_outcome check ((next_attempt_at is null) = (outcome is not null)),
  -- One a day, whatever happens in between. Ended rows stay for that, until the clean-up.
  constraint webhook_endpoint_warnings_once_a_day unique (endpoint_id, threshold, day)
);
-- The claim of the sender; the clean-up.
create index webhook_endpoint_warnings_due_idx on webhook_endpoint_warnings (next_attempt_at) where outcome is null;
create index webhook_endpoint_warnings_created_at_idx on webhook_endpoint_warnings (created_at);

-- Up Migration

-- Messages to send, written in the transaction that decides to send them. A sender claims a row by moving its next attempt into
-- the future, so rows of a process that died become due again by themselves.
create table {{prefix}}outbox (
  id uuid primary key,
  -- Order of insertion, for kinds that must arrive in order.
  position bigint generated always as identity,
  kind text not null check (length(kind) between 1 and 64),
  -- Keyed hash of the recipient: tells rows of one recipient from others and names nobody.
  recipient bytea not null check (length(recipient) = 32),
  -- Encrypted, because it carries addresses and tokens.
  payload text not null,
  -- Claims so far. Also tells whether a sender still holds the row that it claimed.
  attempts integer not null default 0 check (attempts >= 0),
  next_attempt_at timestamptz not null,
  -- When the message is no longer worth sending; null for never.
  expires_at timestamptz,
  created_at timestamptz not null
);

-- The claim of the sender.
create index {{prefix}}outbox_due_idx on {{prefix}}outbox (kind, next_attempt_at);
-- The oldest message of a recipient, for kinds that are sent in order.
create index {{prefix}}outbox_recipient_idx on {{prefix}}outbox (kind, recipient, position);

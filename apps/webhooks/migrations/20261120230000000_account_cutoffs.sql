-- Up Migration

-- User JWTs of the identity server that were issued before the account was revoked here open nothing any more: not a
-- session, not a personal token. They live for about an hour, so a row is needed no longer than that.
create table account_cutoffs (
  account_id uuid primary key,
  revoked_at timestamptz not null default now()
);

create index account_cutoffs_revoked_at_idx on account_cutoffs (revoked_at);

-- Tokens that ended by idleness stay in the list of their account until it removes them.
create index personal_tokens_listed_idx on personal_tokens (account_id, id desc)
  where revoked_at is null or revoke_reason = 'inactive';

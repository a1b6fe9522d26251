-- Up Migration

-- What the owner of a failing endpoint wants to know. Neither is indexed, so that counting failures stays a HOT update.
alter table webhook_endpoints
  -- The failure that disabled it.
  add column disabled_reason text check (char_length(disabled_reason) between 1 and 64),
  -- The end of the first failed attempt since the last success.
  add column failing_since timestamptz,
  add constraint only_disabled_endpoints_have_a_reason check (disabled_reason is null or status = 2),
  add constraint only_failures_have_begun check (failing_since is null or consecutive_failures > 0);

-- Up Migration

-- Tells the attempts of a delivery apart that began with the same number: after a lost job lock two processes may each make one.
-- Random; null for an attempt that a lost process may have made, until its result arrives after all.
alter table webhook_attempts add column key bigint;

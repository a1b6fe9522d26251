-- Up Migration

-- The delivery log by status. An index on the status itself would make every first success change an index. This column stays
-- null then, so such an update is still a heap-only one, and what fails has changed an index anyway.
alter table webhook_deliveries
  add column failed boolean generated always as (case when status = 2 then true end) stored;
create index webhook_deliveries_failed_idx on webhook_deliveries (endpoint_id, created_at desc, id desc) where failed;

-- Also in the order of the log, and still found by endpoint alone.
drop index webhook_deliveries_pending_idx;
create index webhook_deliveries_pending_idx on webhook_deliveries (endpoint_id, created_at desc, id desc)
  where next_attempt_at is not null;

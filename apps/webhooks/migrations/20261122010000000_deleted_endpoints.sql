-- Up Migration

-- Retention: the endpoints that were deleted longest ago.
create index webhook_endpoints_deleted_at_idx on webhook_endpoints (deleted_at) where deleted_at is not null;

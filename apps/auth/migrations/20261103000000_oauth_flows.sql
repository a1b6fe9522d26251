-- Up Migration

-- An OAuth flow is taken up once, by the first callback with its state; the calls to the provider come after that.
alter table {{prefix}}flow_state add column claimed_at timestamptz;

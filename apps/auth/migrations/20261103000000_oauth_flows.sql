-- Up Migration

-- The first callback with a flow's state claims it, before the provider is called, so that a flow is used only once.
alter table {{prefix}}flow_state add column claimed_at timestamptz;

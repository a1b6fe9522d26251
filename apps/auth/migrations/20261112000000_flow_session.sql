-- Up Migration

-- A code issued by the sign-in page refers to the session that the page already opened, not to a new one.
alter table {{prefix}}flow_state add column session_id uuid references {{prefix}}sessions on delete cascade;
-- For the cascade.
create index {{prefix}}flow_state_session_idx on {{prefix}}flow_state (session_id) where session_id is not null;

-- Up Migration

-- A code of the sign-in page stands for the session that the page has opened, not for one to be opened.
alter table {{prefix}}flow_state add column session_id uuid references {{prefix}}sessions on delete cascade;
-- For the cascade.
create index {{prefix}}flow_state_session_idx on {{prefix}}flow_state (session_id) where session_id is not null;

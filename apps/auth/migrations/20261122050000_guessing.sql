-- Up Migration

-- Wrong passwords that count against an account: one row for all strangers to it, and one for each network it signed in
-- from. The id is a keyed hash of the address (and the network), so that an address without an account counts alike and
-- the table names neither. Unlogged: a sign-in writes here twice, and only a crash of the server empties it.
create unlogged table {{prefix}}sign_in_attempts (
  id bytea primary key check (length(id) = 32),
  failures integer not null check (failures >= 0),
  last_at timestamptz not null
) with (fillfactor = 70);

-- For the clean-up of expired rows.
create index {{prefix}}sign_in_attempts_last_at_idx on {{prefix}}sign_in_attempts (last_at);

-- Where sessions of a user were opened from. Strangers who guess do not slow the user down there.
create table {{prefix}}known_networks (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references {{prefix}}users on delete cascade,
  network text not null check (length(network) <= 128),
  last_seen_at timestamptz not null,
  constraint {{prefix}}known_networks_user_network_key unique (user_id, network)
);

create index {{prefix}}known_networks_last_seen_at_idx on {{prefix}}known_networks (last_seen_at);

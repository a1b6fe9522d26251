-- Up Migration

-- The password of a sign-up with the address of an account. It never signs in: whoever tries it is asked to confirm the address,
-- as after a sign-up with a new address, and for as long. So it belongs to no account, whose life would show in it.
create table {{prefix}}repeated_sign_ups (
  id uuid primary key,
  -- A keyed hash of the address, which may have no account any more.
  address bytea not null check (length(address) = 32),
  password_hash text not null,
  -- The client, hashed: its own sign-up is not hidden by those of others.
  requested_by bytea check (length(requested_by) = 32),
  created_at timestamptz not null
);

create index {{prefix}}repeated_sign_ups_address_idx on {{prefix}}repeated_sign_ups (address, created_at);
-- For the clean-up.
create index {{prefix}}repeated_sign_ups_created_idx on {{prefix}}repeated_sign_ups (created_at);

-- Until now they were kept with the account.
delete from {{prefix}}pending_sign_ups s using {{prefix}}users u
  where u.id = s.user_id and s.origin = 'self'
    and case s.address_kind when 'email' then u.email_confirmed_at when 'phone' then u.phone_confirmed_at end is not null;

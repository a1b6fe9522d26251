-- Up Migration

-- A sign-up with the address of an account changes nothing, but its password is kept: whoever tries it is asked to confirm the
-- address, as after any other sign-up. The kind keeps the password from being tried with the other address of the account.
alter table {{prefix}}pending_sign_ups
  add column address_kind text check (address_kind in ('email', 'phone'));

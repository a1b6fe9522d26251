-- Up Migration

-- What the identity server reported about an account that restricts its access. Every credential check reads the row
-- in the same statement, so what is written here works from its commit on.
create table account_states (
  account_id uuid primary key,
  -- No credential works before this time, and deliveries are held until then.
  banned_until timestamptz,
  -- When the identity server decided what banned_until says. What it decided earlier and arrives later changes nothing.
  ban_decided_at timestamptz,
  -- Permanently ends everything derived from a sign-in at or before this time, by the identity server's clock.
  signed_out_at timestamptz,
  -- Final: the row stays as a tombstone, and triggers refuse rows that name the account.
  deleted_at timestamptz,
  -- When the last row of the account was gone.
  purged_at timestamptz,
  constraint bans_have_a_decision check (banned_until is null or ban_decided_at is not null),
  constraint only_deleted_accounts_are_purged check (purged_at is null or deleted_at is not null)
);

-- The job that removes what deleted accounts own.
create index account_states_unpurged_idx on account_states (deleted_at) where deleted_at is not null and purged_at is null;
-- For the clean-up of states that no longer have an effect.
create index account_states_idle_idx on account_states (greatest(signed_out_at, ban_decided_at, banned_until))
  where deleted_at is null;

-- Its only question, whether a sign-in is older than a revocation, is now asked of account_states.
insert into account_states (account_id, signed_out_at) select account_id, revoked_at from account_cutoffs;
drop table account_cutoffs;

-- When the identity server vouched for the person, by its clock: the time in the user JWT. What is derived from a session or
-- a grant inherits it. The row's own creation time would be wrong: a stolen JWT can create one after its owner signed out
-- everywhere and before we hear of it.
alter table login_sessions add column authenticated_at timestamptz;
update login_sessions set authenticated_at = signed_in_at;
alter table login_sessions
  add constraint signed_in_sessions_were_authenticated check ((account_id is null) = (authenticated_at is null));
alter table oauth_grants add column authenticated_at timestamptz;
update oauth_grants set authenticated_at = created_at;
alter table oauth_grants alter column authenticated_at set not null;
alter table personal_tokens add column authenticated_at timestamptz;
update personal_tokens set authenticated_at = created_at;
alter table personal_tokens alter column authenticated_at set not null;

-- Writers of an account hold this lock in shared mode; its deletion holds it exclusively while it writes the tombstone:
-- earlier writers have committed by then, and later ones see the tombstone. One of 1024 locks rather than one per
-- account, so that a statement which writes rows of very many accounts does not exhaust the server's lock table.
create function account_lock(id uuid) returns integer language sql immutable strict parallel safe
  return (hashtextextended(id::text, 0) & 1023)::integer;

-- Each statement in a function takes a new snapshot, so it sees a deletion that was committed while it waited for the lock.
create function is_account_deleted_for_writer(writer_of uuid) returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(1, account_lock(writer_of));
  return exists (select from account_states where account_id = writer_of and deleted_at is not null);
end $$;

-- Writers of one recording take turns, in parallel with those of the account's other recordings. False for a deleted account.
create function begin_writing_recording(writer_of uuid, recording text) returns boolean language plpgsql as $$
begin
  if is_account_deleted_for_writer(writer_of) then
    return false;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('recording:' || writer_of || ':' || recording, 0));
  return true;
end $$;

-- Enforced by the database, in case the code fails to: no row can name a deleted account.
create function refuse_deleted_accounts() returns trigger language plpgsql as $$
declare
  gone uuid;
begin
  perform pg_advisory_xact_lock_shared(1, bucket)
    from (select distinct account_lock(account_id) as bucket from added where account_id is not null) as locks;
  select s.account_id into gone
    from added a join account_states s on s.account_id = a.account_id and s.deleted_at is not null limit 1;
  if found then
    raise exception 'account % is deleted', gone using errcode = 'check_violation', constraint = 'account_is_not_deleted';
  end if;
  return null;
end $$;

do $$
declare
  owned record;
begin
  for owned in
    select c.table_name from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = current_schema() and c.column_name = 'account_id' and t.table_type = 'BASE TABLE'
      and c.table_name <> 'account_states'
  loop
    execute format(
      'create trigger refuse_deleted_accounts after insert on %I
       referencing new table as added for each statement execute function refuse_deleted_accounts()',
      owned.table_name
    );
  end loop;
end $$;

-- For sessions, the only rows created without an account: they get one at sign-in.
create function refuse_deleted_account() returns trigger language plpgsql as $$
begin
  if is_account_deleted_for_writer(new.account_id) then
    raise exception 'account % is deleted', new.account_id
      using errcode = 'check_violation', constraint = 'account_is_not_deleted';
  end if;
  return null;
end $$;

create trigger refuse_deleted_account after update on login_sessions
  for each row when (new.account_id is distinct from old.account_id and new.account_id is not null)
  execute function refuse_deleted_account();

-- Deleting events also deletes their open first attempts.
create or replace function webhook_events_gone() returns trigger language plpgsql as $$
begin
  delete from webhook_first_attempts where event_id = any (array(select id from gone));
  delete from webhook_deliveries where event_id = any (array(select id from gone));
  return null;
end $$;

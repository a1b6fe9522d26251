-- Up Migration

-- A ban, the end of a ban, a deletion or a sign-out everywhere also takes effect in other services. The users table
-- reports these itself, no matter what changed it: a trigger adds an outbox row in the same transaction.

-- The payload is plain JSON, because a trigger has no key to seal it; it names nobody but the user's id. Sent in order per user.
create function {{prefix}}tell_account_event(account uuid, event text, decided_at timestamptz, details jsonb)
returns void language sql as $$
  insert into {{prefix}}outbox (id, kind, recipient, payload, next_attempt_at, created_at)
  values (
    gen_random_uuid(), 'account_event', sha256(convert_to(account::text, 'UTF8')),
    jsonb_build_object(
      'type', event,
      'timestamp', to_char(decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'data', jsonb_build_object('user_id', account) || details
    )::text,
    now(), now()
  )
$$;

-- Under the lock of the user's row, so that of two decisions the later one has the later time.
create function {{prefix}}tell_ban(account uuid, until timestamptz) returns void language plpgsql as $$
begin
  if until > clock_timestamp() then
    perform {{prefix}}tell_account_event(account, 'user.banned', clock_timestamp(), jsonb_build_object(
      'banned_until',
      to_char(least(until, timestamptz '9999-12-31 00:00:00+00') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    ));
  else
    perform {{prefix}}tell_account_event(account, 'user.unbanned', clock_timestamp(), '{}');
  end if;
end
$$;

create function {{prefix}}tell_changed_user() returns trigger language plpgsql as $$
begin
  if new.deleted_at is not null then
    perform {{prefix}}tell_account_event(new.id, 'user.deleted', clock_timestamp(), '{}');
  else
    perform {{prefix}}tell_ban(new.id, new.banned_until);
  end if;
  return null;
end
$$;

create function {{prefix}}tell_removed_users() returns trigger language plpgsql as $$
begin
  -- Soft-deleted users were already reported.
  perform {{prefix}}tell_account_event(id, 'user.deleted', clock_timestamp(), '{}') from removed where deleted_at is null;
  return null;
end
$$;

create trigger {{prefix}}users_told_in after insert on {{prefix}}users for each row
  when (new.banned_until is not null or new.deleted_at is not null)
  execute function {{prefix}}tell_changed_user();
create trigger {{prefix}}users_told_changed after update on {{prefix}}users for each row
  when (new.banned_until is distinct from old.banned_until or new.deleted_at is distinct from old.deleted_at)
  execute function {{prefix}}tell_changed_user();
create trigger {{prefix}}users_told_out after delete on {{prefix}}users
  referencing old table as removed for each statement execute function {{prefix}}tell_removed_users();

-- Reports users that were banned or deleted before this migration.
select {{prefix}}tell_ban(id, banned_until) from {{prefix}}users where banned_until > now() and deleted_at is null;
select {{prefix}}tell_account_event(id, 'user.deleted', deleted_at, '{}') from {{prefix}}users where deleted_at is not null;

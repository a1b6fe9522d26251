-- Up Migration

-- An account event that waits behind another one of the same user is not due, so that a claim need not walk past it: while the
-- receiver is away, one user may have thousands. It becomes due when the one in front of it is deleted, whichever version of the
-- code does that.

create or replace function {{prefix}}tell_account_event(account uuid, event text, decided_at timestamptz, details jsonb)
returns void language plpgsql as $$
declare
  addressee constant bytea := sha256(convert_to(account::text, 'UTF8'));
  in_front bigint;
begin
  -- Whoever deletes that row waits for this transaction, and then finds the new row behind it. If it is deleted first, this
  -- one is due at once.
  select position into in_front from {{prefix}}outbox
    where kind = 'account_event' and recipient = addressee order by position desc limit 1 for key share;
  insert into {{prefix}}outbox (id, kind, recipient, payload, next_attempt_at, created_at)
  values (
    gen_random_uuid(), 'account_event', addressee,
    jsonb_build_object(
      'type', event,
      'timestamp', to_char(decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'data', jsonb_build_object('user_id', account) || details
    )::text,
    case when in_front is null then now() else 'infinity' end, now()
  );
end
$$;

create function {{prefix}}release_next_event() returns trigger language plpgsql as $$
begin
  -- Of two transactions that delete the first two events, each would see that of the other as the one in front.
  perform pg_advisory_xact_lock(hashtextextended(encode(old.recipient, 'hex'), 0));
  -- Due since it was decided: among the events of all users, it has waited that long.
  update {{prefix}}outbox set next_attempt_at = created_at
  where next_attempt_at = 'infinity' and id = (
    select id from {{prefix}}outbox where kind = old.kind and recipient = old.recipient order by position limit 1
  );
  return null;
end
$$;

create trigger {{prefix}}outbox_event_done after delete on {{prefix}}outbox for each row
  when (old.kind = 'account_event') execute function {{prefix}}release_next_event();

update {{prefix}}outbox o set next_attempt_at = 'infinity'
where kind = 'account_event' and exists (
  select from {{prefix}}outbox e where e.kind = o.kind and e.recipient = o.recipient and e.position < o.position
);

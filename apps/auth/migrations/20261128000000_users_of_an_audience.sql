-- Up Migration

-- The number of users of each audience follows those whose audience changes: the first proof of an address decides it.
create function {{prefix}}count_moved_user() returns trigger language plpgsql as $$
begin
  insert into {{prefix}}user_counts as c (aud, shard, users)
    select aud, pg_backend_pid() % 32, sum(change) from (values (old.aud, -1), (new.aud, 1)) as moved (aud, change)
    group by aud order by aud
    on conflict (aud, shard) do update set users = c.users + excluded.users;
  return null;
end
$$;

create trigger {{prefix}}users_counted_over after update of aud on {{prefix}}users
  for each row when (old.aud <> new.aud) execute function {{prefix}}count_moved_user();

-- Corrects the numbers. Creating the trigger has locked the table, so nobody adds or removes users meanwhile.
insert into {{prefix}}user_counts as c (aud, shard, users)
  select aud, 0, sum(users) from (
    select aud, count(*) from {{prefix}}users group by aud
    union all select aud, -users from {{prefix}}user_counts) as difference (aud, users)
  group by aud having sum(users) <> 0
  on conflict (aud, shard) do update set users = c.users + excluded.users;

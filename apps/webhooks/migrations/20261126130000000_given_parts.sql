-- Up Migration

-- The parts that came with the notice of an event whose body could not be built at once: another part is missing, or a summary
-- has to be converted. They are what will be sent, whatever the recording is by then. Null for a part that the notice left out, the
-- JSON null for one that does not exist. On this table, because a row leaves it when its event gets a body, is purged or
-- deleted, whatever statement or version does that.
alter table webhook_queued_events
  add column given_recording text,
  add column given_transcript text,
  add column given_summaries text;

-- As for the texts of recordings.
do $$
declare
  has_lz4 constant boolean := exists (
    select from pg_settings where name = 'default_toast_compression' and 'lz4' = any (enumvals)
  );
  part text;
begin
  foreach part in array array['recording', 'transcript', 'summaries'] loop
    execute format(
      'alter table webhook_queued_events alter column %I set %s',
      'given_' || part, case when has_lz4 then 'compression lz4' else 'storage external' end
    );
  end loop;
end $$;

-- As before, and keeps the parts of each event that has no body. Versions that do not know them call it with the same parameters.
create or replace function write_recordings(
  wait_for_turn boolean,
  accounts uuid[], audio_ids text[],
  event_ids text[], event_times timestamptz[], sources text[], source_keys text[], source_hashes bytea[], bodies text[],
  recording_actions text[], report_ids text[], statuses integer[], titles text[], durations bigint[],
  recorded_times timestamptz[],
  transcript_actions text[], languages text[], texts text[], segment_lists json[],
  -- Null keeps the summaries. They follow in arrays of their own, with the position of their recording.
  summary_counts integer[],
  summary_items integer[], summary_positions integer[], labels text[], contents text[], formats text[], templates text[]
) returns table (item integer, outcome text, event_id text)
language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  verdicts text[];
  created text[];
  -- Created without a body.
  unfrozen text[];
begin
  -- Ascending, as every writer of more than one account does it (packages/webhook-core/README.md#lock-order).
  perform pg_advisory_xact_lock_shared(1, bucket)
    from (select distinct account_lock(account) as bucket from unnest(accounts) as a (account) order by 1) as locks;
  if wait_for_turn then
    perform pg_advisory_xact_lock(turn)
      from (
        select distinct recording_lock(account, audio) as turn from unnest(accounts, audio_ids) as a (account, audio)
        order by 1
      ) as locks;
  end if;

  verdicts := array(
    select case
      -- Not exists (…), which may be answered by reading the whole table once.
      when (select s.deleted_at from account_states s where s.account_id = i.account) is not null then 'deleted'
      when not pg_try_advisory_xact_lock(recording_lock(i.account, i.audio)) then 'busy'
      when i.event is null then 'stored'
      else 'event'
    end
    from unnest(accounts, audio_ids, event_ids) with ordinality as i (account, audio, event, n)
    order by i.n
  );

  if 'event' = any (verdicts) then
    -- Ascending by key: two statements with the same keys wait for each other in one direction only.
    with event as (
      insert into webhook_events
        (id, account_id, type, audio_id, source, source_event_key, source_hash, body, created_at)
      select i.id, i.account, 'summary.completed', i.audio, i.source, i.key, i.hash, i.body, i.created
      from unnest(verdicts, event_ids, accounts, audio_ids, sources, source_keys, source_hashes, bodies, event_times)
        as i (verdict, id, account, audio, source, key, hash, body, created)
      where i.verdict = 'event'
      order by i.source, i.key
      on conflict (source, source_event_key) do nothing
      returning id, body is null as lacks_body
    )
    select array_agg(id), array_agg(id) filter (where lacks_body) into created, unfrozen from event;
    verdicts := array(
      select case when i.verdict <> 'event' then i.verdict when i.id = any (created) then 'created' else 'known' end
      from unnest(verdicts, event_ids) with ordinality as i (verdict, id, n)
      order by i.n
    );
  end if;

  if unfrozen is not null then
    -- Materialized, so that the summaries are collected once and not for each event.
    with summary as materialized (
      select item, json_agg(
        json_build_object('label', label, 'content', content, 'format', format, 'template_name', template)
        order by position
      )::text as list
      from unnest(summary_items, summary_positions, labels, contents, formats, templates)
        as s (item, position, label, content, format, template)
      where event_ids[item] = any (unfrozen)
      group by item
    )
    update webhook_queued_events q set
      given_recording = case i.recording_action
        when 'put' then json_build_object(
          'report_id', i.report_id, 'status', i.status, 'title', i.title, 'duration_ms', i.duration_ms,
          'recorded_at_ms', (extract(epoch from i.recorded_at) * 1000)::bigint
        )::text
        when 'delete' then 'null'
      end,
      -- No more than fits into a body (1 MiB), and a character that says that there is more.
      given_transcript = case i.transcript_action
        when 'put' then json_build_object(
          'language', i.language,
          'text', case when octet_length(i.text) <= 1048576 then i.text else left(i.text, 1048577) end,
          'segments', case when octet_length(i.segments::text) <= 1048576 then i.segments end
        )::text
        when 'delete' then 'null'
      end,
      given_summaries = case
        when i.count = 0 then '[]'
        when i.count > 0 then (select s.list from summary s where s.item = i.n)
      end
    from unnest(
      event_ids, recording_actions, report_ids, statuses, titles, durations, recorded_times,
      transcript_actions, languages, texts, segment_lists, summary_counts
    ) with ordinality as i (
      event, recording_action, report_id, status, title, duration_ms, recorded_at,
      transcript_action, language, text, segments, count, n
    )
    where q.event_id = i.event and i.event = any (unfrozen);
  end if;

  if verdicts && array['stored', 'created'] then
    insert into recordings as r (account_id, audio_id, report_id, status, title, duration_ms, recorded_at)
    select i.account, i.audio, i.report_id, i.status, i.title, i.duration_ms, i.recorded_at
    from unnest(verdicts, recording_actions, accounts, audio_ids, report_ids, statuses, titles, durations, recorded_times)
      as i (verdict, action, account, audio, report_id, status, title, duration_ms, recorded_at)
    where i.verdict in ('stored', 'created') and i.action = 'put'
    on conflict (account_id, audio_id) do update set
      report_id = excluded.report_id, status = excluded.status, title = excluded.title,
      duration_ms = excluded.duration_ms, recorded_at = excluded.recorded_at, updated_at = now();

    insert into transcripts as t (account_id, audio_id, language, text, segments)
    select i.account, i.audio, i.language, i.text, i.segments
    from unnest(verdicts, transcript_actions, accounts, audio_ids, languages, texts, segment_lists)
      as i (verdict, action, account, audio, language, text, segments)
    where i.verdict in ('stored', 'created') and i.action = 'put'
    on conflict (account_id, audio_id) do update set
      language = excluded.language, text = excluded.text, segments = excluded.segments, updated_at = now();

    insert into summaries as s (account_id, audio_id, position, label, content, format, template_name)
    select accounts[i.item], audio_ids[i.item], i.position, i.label, i.content, i.format, i.template_name
    from unnest(summary_items, summary_positions, labels, contents, formats, templates)
      as i (item, position, label, content, format, template_name)
    where verdicts[i.item] in ('stored', 'created')
    on conflict (account_id, audio_id, position) do update set
      label = excluded.label, content = excluded.content, format = excluded.format,
      template_name = excluded.template_name, updated_at = now();

    delete from summaries s
    using unnest(verdicts, accounts, audio_ids, summary_counts) as i (verdict, account, audio, count)
    where i.verdict in ('stored', 'created')
      and s.account_id = i.account and s.audio_id = i.audio and s.position >= i.count;

    if 'delete' = any (recording_actions) then
      delete from recordings r
      using unnest(verdicts, recording_actions, accounts, audio_ids) as i (verdict, action, account, audio)
      where i.verdict in ('stored', 'created') and i.action = 'delete'
        and r.account_id = i.account and r.audio_id = i.audio;
    end if;

    if 'delete' = any (transcript_actions) then
      delete from transcripts t
      using unnest(verdicts, transcript_actions, accounts, audio_ids) as i (verdict, action, account, audio)
      where i.verdict in ('stored', 'created') and i.action = 'delete'
        and t.account_id = i.account and t.audio_id = i.audio;
    end if;
  end if;

  return query
    select i.n::integer,
      case
        when i.verdict <> 'known' then i.verdict
        -- Retention deleted the earlier event after the insert conflicted with it.
        when e.id is null then 'busy'
        when e.source_hash = i.hash then 'duplicate'
        else 'conflict'
      end,
      case i.verdict when 'created' then i.id when 'known' then e.id end
    from unnest(verdicts, event_ids, sources, source_keys, source_hashes)
      with ordinality as i (verdict, id, source, key, hash, n)
    left join webhook_events e
      on i.verdict = 'known' and e.source = i.source and e.source_event_key = i.key
    order by i.n;
end $$;

import type { Queryable } from '@signet/db'
import type { RecordingRef } from '@signet/webhook-core/stores'

/** How many bytes the summaries of these recordings have, in order. Does not read them. */
export async function findSummaryBytes(db: Queryable, refs: readonly RecordingRef[]): Promise<number[]> {
  const { rows } = await db.query<{ ord: string; bytes: string }>(
    {
      name: 'find-summary-bytes',
      text: `select wanted.ord, sum(octet_length(s.content)) as bytes
     from unnest($1::uuid[], $2::text[]) with ordinality as wanted (account_id, audio_id, ord)
     join summaries s using (account_id, audio_id)
     group by wanted.ord`,
    },
    [refs.map(({ accountId }) => accountId), refs.map(({ audioId }) => audioId)],
  )
  const found = refs.map(() => 0)
  for (const { ord, bytes } of rows) found[Number(ord) - 1] = Number(bytes)
  return found
}

import type { Tables } from '../database/tables.js'

/**
 * SQL that says whether guesses from the network are counted separately from strangers' guesses. They are if an account with a proven
 * address signed in there, and in fewer than `count` other networks since. Without that limit, someone with the password could make any
 * number of networks known. The arguments are SQL as well. Networks last seen before `since` count as strangers.
 */
export const knowsNetwork = (
  t: Tables,
  {
    userId,
    isProved,
    network,
    since,
    count,
  }: Record<'userId' | 'isProved' | 'network' | 'since' | 'count', string>,
): string => `(${isProved} and ${network} in (
    select k.network from ${t.knownNetworks} k where k.user_id = ${userId} and k.last_seen_at > ${since}::timestamptz
    order by k.last_seen_at desc, k.id limit ${count}::int
  ))`

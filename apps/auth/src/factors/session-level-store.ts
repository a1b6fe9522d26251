import type { Tx } from '@signet/db'
import type { Held } from '../sessions/session.js'
import type { Tables } from '../database/tables.js'

/** `amr` entries that make a session aal2 (docs/specification.md#methods-in-amr). */
export const FACTOR_METHODS = { totp: 'totp', phone: 'mfa/phone', webauthn: 'mfa/webauthn' } as const

/** The `amr` entry of a recovery code, which belongs to no factor. */
export const RECOVERY_CODE = 'mfa/recovery_code'

/** `isNew`: this proof adds the factor, so it says nothing about who is using this session. */
export type Upgrade =
  | { factorId: string; method: (typeof FACTOR_METHODS)[keyof typeof FACTOR_METHODS]; isNew: boolean }
  | { factorId: null; method: typeof RECOVERY_CODE; isNew: false }

/** More tokens than anyone presents within the reuse interval. Beyond that, the oldest is forgotten. */
const SUPERSEDED_TOKENS = 16

/** Raises and lowers the level of sessions when factors are used or removed. */
export class SessionLevelStore {
  constructor(private readonly t: Tables) {}

  /**
   * Raises a session to aal2 and replaces its refresh token, as a refresh does. The caller need not present the current token: another
   * tab may just have exchanged it, or got one from a second factor shown there. `superseded_at` remembers the replaced tokens, so that
   * those tabs keep the session.
   */
  async upgrade(tx: Tx, { session }: Held, { factorId, method, isNew }: Upgrade, now: Date): Promise<void> {
    await tx.query(
      `update ${this.t.sessions} set aal = 'aal2', updated_at = $3, refreshed_at = $3,
         factor_id = $2,
         refresh_counter = refresh_counter + 1,
         superseded_at = ($3::timestamptz || coalesce(superseded_at, array[refreshed_at]))[:${SUPERSEDED_TOKENS}],
         amr = jsonb_build_array($4::jsonb || jsonb_build_object('is_new',
           $6 or amr @> jsonb_build_array(jsonb_build_object('method', $7::text, 'is_new', true))))
           || ${amrWithout('$5::text[]')}
       where id = $1`,
      [
        session.id,
        factorId,
        now,
        JSON.stringify({ method, at: now, factor_id: factorId ?? undefined }),
        [method],
        isNew,
        method,
      ],
    )
  }

  /**
   * Before a factor is removed, the sessions that it raised fall back to aal1. With the last verified factor, so do those that a recovery
   * code raised. The others, and those whose sign-in made them aal2 without a factor, only lose these proofs.
   */
  async downgrade(tx: Tx, factorId: string, now: Date): Promise<void> {
    const isLast = `not exists (
      select from ${this.t.mfaFactors} o where o.user_id = f.user_id and o.status = 'verified' and o.id <> f.id)`
    const lostRecovery = `s.amr @> $3::jsonb and ${isLast}`
    const recovery = JSON.stringify([{ method: RECOVERY_CODE }])
    await tx.query(
      `update ${this.t.sessions} s set aal = 'aal1', factor_id = null, updated_at = $2, amr = ${amrWithout('$4::text[]')}
       from ${this.t.mfaFactors} f
       where f.id = $1 and s.user_id = f.user_id and not s.amr @> '[{"aal": "aal2"}]' and (s.factor_id = f.id or ${lostRecovery})`,
      [factorId, now, recovery, [...Object.values(FACTOR_METHODS), RECOVERY_CODE]],
    )
    const isLost = `entry ->> 'factor_id' = f.id::text or entry ->> 'method' = $4 and ${isLast}`
    await tx.query(
      `update ${this.t.sessions} s set factor_id = nullif(s.factor_id, f.id), updated_at = $2, amr = ${amrWhere(`(${isLost}) is not true`)}
       from ${this.t.mfaFactors} f
       where f.id = $1 and s.user_id = f.user_id and (
         s.amr @> jsonb_build_array(jsonb_build_object('factor_id', f.id)) or ${lostRecovery})`,
      [factorId, now, recovery, RECOVERY_CODE],
    )
  }
}

const amrWhere = (condition: string): string => `
  (select coalesce(jsonb_agg(entry order by place), '[]')
   from jsonb_array_elements(amr) with ordinality entries (entry, place)
   where ${condition})`

const amrWithout = (methods: string): string => amrWhere(`entry ->> 'method' <> all(${methods})`)

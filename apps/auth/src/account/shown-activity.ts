import type { AuditEntry } from '../admin/audit-list-store.js'
import type { AuditAction } from '../audit/audit.js'
import type { Factor } from '../users/user.js'

/**
 * The actions in the audit log that the account page shows to its owner (decision 0205). Refreshes and other frequent actions would hide
 * them.
 */
export const SHOWN_ACTIONS = [
  'login',
  'login_failed',
  'logout',
  'user_signedup',
  'invite_accepted',
  'user_updated_password',
  'user_recovery_requested',
  'user_reauthenticate_requested',
  'user_modified',
  'session_revoked',
  'identity_linked',
  'identity_unlinked',
  'factor_added',
  'factor_unenrolled',
  'factor_deleted',
  'factor_updated',
  'passkey_created',
  'passkey_updated',
  'passkey_deleted',
  'recovery_codes_created',
  'recovery_codes_deleted',
  'recovery_code_attempted',
  'user_deletion_requested',
  'user_deletion_cancelled',
] as const satisfies readonly AuditAction[]
type ShownAction = (typeof SHOWN_ACTIONS)[number]

/** An audit log entry as the account's owner sees it. */
export type ShownActivity = {
  action: ShownAction
  /** What the name of the action leaves open: `email` for a change, `refused` for an attempt. Empty if there is nothing to add. */
  detail: string
  /** The kind of second factor that the entry is about. */
  factorType: Factor['factorType'] | null
  byAdmin: boolean
  ip: string
  at: Date
}

type Traits = Readonly<Record<string, unknown>>

/** What an audit entry about this user shows its owner; null for one that tells them nothing. */
export function activityOf({ payload, ip_address: ip, created_at: at }: AuditEntry, userId: string) {
  const traits = (payload['traits'] ?? {}) as Traits
  const action = payload['action'] as ShownAction
  const byAdmin = payload['actor_id'] !== userId
  const detail = detailOf(action, traits, byAdmin)
  if (detail === null) return null
  return {
    action,
    detail,
    factorType: factorTypeOf(traits['factor_type']),
    byAdmin,
    // The network of an administrator is not shown to other people.
    ip: byAdmin ? '' : ip,
    at,
  } satisfies ShownActivity
}

function detailOf(action: ShownAction, traits: Traits, byAdmin: boolean): string | null {
  switch (action) {
    case 'user_modified':
      return changeOf(traits)
    case 'logout':
      if (traits['session_id'] !== undefined) return 'one'
      return typeof traits['scope'] === 'string' ? traits['scope'] : ''
    case 'session_revoked':
      return byAdmin ? 'admin' : ''
    case 'recovery_code_attempted':
      return traits['accepted'] === false ? 'refused' : ''
    case 'factor_unenrolled':
    case 'factor_deleted':
      // A factor that was never confirmed has never protected anything.
      return traits['factor_status'] === 'unverified' ? null : ''
    default:
      return ''
  }
}

/** Null if only the password changed, which has a separate entry. */
function changeOf({ provider, changes, cancelled }: Traits): string | null {
  if (typeof provider === 'string') return provider
  if (typeof cancelled === 'string') return `${cancelled}_cancelled`
  if (!Array.isArray(changes)) return ''
  if (changes.includes('email')) return 'email_asked'
  if (changes.includes('phone')) return 'phone_asked'
  return changes.every((change) => change === 'password') ? null : ''
}

const factorTypeOf = (type: unknown): ShownActivity['factorType'] =>
  type === 'totp' || type === 'phone' || type === 'webauthn' ? type : null

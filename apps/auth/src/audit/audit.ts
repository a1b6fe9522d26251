import type { JsonObject, User } from '../users/user.js'
import { NIL_UUID } from '../users/uuid.js'

/** The log type of each action (docs/specification.md#audit-actions). */
export const ACTIONS = {
  login: 'account',
  login_failed: 'account',
  logout: 'account',
  invite_accepted: 'account',
  user_signedup: 'team',
  user_invited: 'team',
  user_deleted: 'team',
  token_revoked: 'token',
  token_refreshed: 'token',
  session_revoked: 'token',
  user_modified: 'user',
  user_recovery_requested: 'user',
  user_reauthenticate_requested: 'user',
  user_confirmation_requested: 'user',
  user_repeated_signup: 'user',
  user_updated_password: 'user',
  user_deletion_requested: 'user',
  user_deletion_cancelled: 'user',
  identity_linked: 'user',
  identity_unlinked: 'user',
  passkey_created: 'user',
  passkey_updated: 'user',
  passkey_deleted: 'user',
  factor_in_progress: 'factor',
  factor_added: 'factor',
  factor_unenrolled: 'factor',
  challenge_created: 'factor',
  verification_attempted: 'factor',
  factor_deleted: 'factor',
  factor_updated: 'factor',
  recovery_codes_created: 'factor',
  recovery_codes_deleted: 'factor',
  recovery_code_attempted: 'factor',
  message_given_up: 'message',
} as const

export type AuditAction = keyof typeof ACTIONS
const logTypeOf = (action: AuditAction): string => ACTIONS[action]

declare const held: unique symbol

/** An administrator who keeps the right to act until the transaction ends. `administrators/admin-acts.ts` alone makes one. */
export type HeldAdmin = {
  readonly adminRole: string
  /** Null for a program. */
  readonly person: User | null
  /** Whether entries name the person; otherwise they name the role alone. */
  readonly isNamed: boolean
  readonly [held]: true
}

/** Who did it: a user, an administrator, a part of the server itself, or someone known only by the address they gave. */
export type AuditActor = User | HeldAdmin | { service: string } | { claimed: string }

export type AuditPayload = {
  actor_id: string
  actor_username: string
  actor_name?: string
  actor_via_sso: boolean
  action: AuditAction
  log_type: string
  traits?: JsonObject
}

export function auditPayload(action: AuditAction, actor: AuditActor, traits?: JsonObject): AuditPayload {
  return { ...actorMembers(actor), action, log_type: logTypeOf(action), ...(traits ? { traits } : {}) }
}

function actorMembers(actor: AuditActor) {
  if ('adminRole' in actor)
    return actor.isNamed && actor.person !== null
      ? userMembers(actor.person)
      : { actor_id: NIL_UUID, actor_username: actor.adminRole, actor_via_sso: false }
  if ('service' in actor) return { actor_id: NIL_UUID, actor_username: actor.service, actor_via_sso: false }
  if ('claimed' in actor) return { actor_id: NIL_UUID, actor_username: actor.claimed, actor_via_sso: false }
  return userMembers(actor)
}

function userMembers({ id, phone, email, userMetadata, isSsoUser }: User) {
  const { full_name: name } = userMetadata
  return {
    actor_id: id,
    actor_username: phone ?? email ?? '',
    ...(typeof name === 'string' ? { actor_name: name } : {}),
    actor_via_sso: isSsoUser,
  }
}

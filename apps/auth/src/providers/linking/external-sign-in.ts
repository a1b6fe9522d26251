import { isUniqueViolation, type Db, type Tx } from '@signet/db'
import type { Audit, AuditLog } from '../../audit/audit-log.js'
import type { Mailer } from '../../mail/mailer.js'
import type { CountedMessage, SecretMessages } from '../../messages/secret-messages.js'
import type { RequestMeta } from '../../requests/request-meta.js'
import type { IdentityStore } from '../../users/identity-store.js'
import type { User } from '../../users/user.js'
import { RacedError, type AccountLinking, type Entered } from './account-linking.js'
import type { ConfirmationRequests } from './confirmation-requests.js'
import type { External } from './external-identities.js'
import type { TargetedLinking } from './targeted-linking.js'

/** What a user wants after proving an account at a provider. */
export type Purpose =
  | { kind: 'sign_in'; aud: string }
  /** The session must still be open, and strong enough, when the identity is added. */
  | { kind: 'link'; userId: string; sessionId: string }
  | { kind: 'accept_invite'; tokenHash: Buffer }

type Deps = {
  db: Db
  identities: IdentityStore
  linking: AccountLinking
  targeted: TargetedLinking
  requests: ConfirmationRequests
  messages: SecretMessages
  audit: AuditLog
  mailer: Mailer
}

const MAX_RACES = 3

/**
 * Every sign-in with a provider account goes through here, whether a redirect or an id token proves it
 * (docs/specification.md#account-linking).
 */
export class ExternalSignIn {
  constructor(private readonly deps: Deps) {}

  /** For users who may sign in, `finish` runs in the same transaction. `redirectTo` is for emails. */
  async run<T>(
    { external, purpose, redirectTo }: { external: External; purpose: Purpose; redirectTo: string },
    meta: RequestMeta,
    finish: (tx: Tx, audit: Audit, user: User) => Promise<T>,
  ): Promise<T> {
    const { requests, messages } = this.deps
    const requested = await this.#requested(external, purpose)
    for (const { address } of requested) messages.refuseAddress(address)
    const { entered, value } = await messages.counted(requested, meta, () =>
      this.#enter(external, purpose, meta, async (tx, audit, result) => {
        await requests.send(tx, result.confirmation, redirectTo, meta)
        if (result.linked) await this.#notifyLinked(tx, result.user, external, meta)
        return result.refusal ? undefined : finish(tx, audit, result.user)
      }),
    )
    // Thrown after the commit: the user is kept, and the email is on its way.
    if (entered.refusal) throw entered.refusal
    return value as T
  }

  /** The email to count against the quotas. It counts whether or not it is sent, because that depends on who else has the address. */
  async #requested(external: External, purpose: Purpose): Promise<CountedMessage[]> {
    const { db, linking, targeted } = this.deps
    const counted = (value: string | null, why: 'confirmation' | 'change'): CountedMessage[] =>
      value === null ? [] : [{ address: { kind: 'email', value }, purpose: why }]
    switch (purpose.kind) {
      case 'sign_in':
        return counted(await linking.unprovedAddress(db, external), 'confirmation')
      case 'link':
        return counted(await targeted.unprovedAddress(db, external, purpose.userId), 'change')
      case 'accept_invite':
        return []
    }
  }

  /** Runs the transaction again if another request inserted the same user or identity at the same time. */
  async #enter<T>(
    external: External,
    purpose: Purpose,
    meta: RequestMeta,
    finish: (tx: Tx, audit: Audit, entered: Entered) => Promise<T>,
  ): Promise<{ entered: Entered; value: T }> {
    for (let race = 1; ; race += 1) {
      try {
        return await this.deps.audit.transaction(meta, async (tx, audit) => {
          const entered = await this.#decide(tx, audit, external, purpose)
          return { entered, value: await finish(tx, audit, entered) }
        })
      } catch (error) {
        const isRace = error instanceof RacedError || isUniqueViolation(error)
        if (!isRace || race === MAX_RACES) throw error
      }
    }
  }

  /**
   * Requests with the same account at a provider run one after another. Otherwise, each would lock the account and the address in a
   * different order.
   */
  async #decide(tx: Tx, audit: Audit, external: External, purpose: Purpose): Promise<Entered> {
    const { identities, linking, targeted } = this.deps
    await identities.lockAccount(tx, external.provider, external.profile.subject)
    switch (purpose.kind) {
      case 'sign_in':
        return linking.enter(tx, audit, external, purpose.aud)
      case 'link':
        return targeted.link(tx, audit, external, purpose)
      case 'accept_invite':
        return targeted.acceptInvite(tx, audit, external, purpose.tokenHash)
    }
  }

  #notifyLinked(tx: Tx, user: User, { provider }: External, meta: RequestMeta): Promise<void> {
    const email = user.email ?? ''
    const variables = { email, provider, data: user.userMetadata }
    return this.deps.mailer.notify(tx, { kind: 'identity_linked_notification', to: email, variables }, meta)
  }
}

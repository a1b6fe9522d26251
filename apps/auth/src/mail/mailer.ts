import type { Tx } from '@signet/db'
import { withoutLabel } from '../addresses/email.js'
import { authError } from '../errors/auth-error.js'
import type { Observer } from '../observers/observer.js'
import type { Withdrawable } from '../one-time-tokens/one-time-tokens.js'
import type { MessageOrigin } from '../outbox/outbox-handler.js'
import type { Outbox } from '../outbox/outbox.js'
import { isDeliverable } from './deliverable.js'
import type { MailKind, MailVariables, NoticeKind } from './kinds.js'
import type { MailConfig } from './mail-config.js'
import { EMAIL, type MailPayload, type MailUndo } from './mail-payload.js'

/** An email with secrets, which are withdrawn if it cannot be delivered. */
export type SecretMail = {
  kind: MailKind
  to: string
  variables: MailVariables
  /** All secrets of the change. If two emails confirm it, one of them alone is useless. */
  secrets: readonly Withdrawable[]
}

/** An email about something that has happened. */
export type Notice = {
  kind: NoticeKind
  to: string
  variables: MailVariables
  /** The sign-up that the notice is about, if it is about one. */
  signUpId?: string | undefined
}

type Deps = {
  config: Pick<MailConfig, 'smtp' | 'notices' | 'authorizedAddresses' | 'lifeMs'>
  outbox: Outbox
  observer: Pick<Observer, 'mailSkipped'>
  now: () => Date
}

/** Puts emails into the outbox, in the caller's transaction (decision 0127). */
export class Mailer {
  readonly #authorized: ReadonlySet<string>

  constructor(private readonly deps: Deps) {
    this.#authorized = new Set(deps.config.authorizedAddresses.map(withoutLabel))
  }

  /** Throws `email_address_invalid` or `email_address_not_authorized` for an address that cannot receive email. */
  refuse(to: string): void {
    // While email is disabled, no address is refused.
    if (!this.deps.config.smtp) return
    if (!isDeliverable(to))
      throw authError('invalid', 'email_address_invalid', 'Email address is too long to receive email')
    if (!this.#isAuthorized(to))
      throw authError('invalid', 'email_address_not_authorized', 'Email address not authorized')
  }

  /** Adds an email. Throws the same errors as `refuse`. */
  async add(tx: Tx, { kind, to, variables, secrets }: SecretMail, meta: MessageOrigin): Promise<void> {
    this.refuse(to)
    const { secret: lifeMs } = this.deps.config.lifeMs
    await this.#put(tx, { mail: kind, to, variables }, { mail: kind, secrets }, lifeMs, meta)
  }

  /**
   * Adds a notice if it is enabled and the address can receive it. A notice about a sign-up has as much time as a confirmation, and the
   * sign-up ends if it is never delivered.
   */
  async notify(tx: Tx, { kind, to, variables, signUpId }: Notice, meta: MessageOrigin): Promise<void> {
    const { notices, lifeMs } = this.deps.config
    if (!notices.has(kind) || to === '') return
    // Notices are not subject to the quota. Someone who exhausts it must not keep the owner from being notified.
    if (!isDeliverable(to) || !this.#isAuthorized(to)) return
    const undo = { mail: kind, secrets: [], ...(signUpId === undefined ? {} : { signUpId }) }
    const life = signUpId === undefined ? lifeMs.notice : lifeMs.secret
    await this.#put(tx, { mail: kind, to, variables }, undo, life, meta)
  }

  async #put(
    tx: Tx,
    payload: MailPayload,
    undo: MailUndo,
    lifeMs: number,
    meta: MessageOrigin,
  ): Promise<void> {
    const { config, outbox, observer, now } = this.deps
    const { mail: kind, to: recipient } = payload
    if (!config.smtp) return tx.afterCommit(() => observer.mailSkipped(kind, meta))
    const expiresAt = new Date(now().getTime() + lifeMs)
    await outbox.add(tx, { kind: EMAIL, recipient, payload, undo, expiresAt }, meta)
  }

  #isAuthorized(to: string): boolean {
    return this.#authorized.size === 0 || this.#authorized.has(withoutLabel(to))
  }
}

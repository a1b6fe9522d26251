import type { Tx } from '@signet/db'
import type { MessageOrigin } from '../outbox/outbox-handler.js'
import type { User } from '../users/user.js'
import type { Mailer } from './mailer.js'

/** Notifies the previous address of the account (docs/specification.md#emails), if there was one. */
export async function notifyEmailChanged(
  tx: Tx,
  mailer: Mailer,
  before: User,
  email: string,
  meta: MessageOrigin,
): Promise<void> {
  const { email: oldEmail, userMetadata: data } = before
  if (oldEmail === null || oldEmail === email) return
  const variables = { email, oldEmail, data }
  await mailer.notify(tx, { kind: 'email_changed_notification', to: oldEmail, variables }, meta)
}

export async function notifyPhoneChanged(
  tx: Tx,
  mailer: Mailer,
  before: User,
  after: User,
  meta: MessageOrigin,
): Promise<void> {
  const { phone: oldPhone } = before
  const { email, phone, userMetadata: data } = after
  if (oldPhone === null || phone === null || oldPhone === phone || email === null) return
  const variables = { email, phone, oldPhone, data }
  await mailer.notify(tx, { kind: 'phone_changed_notification', to: email, variables }, meta)
}

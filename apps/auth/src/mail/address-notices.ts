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
  if (oldEmail !== null && oldEmail !== email)
    await mailer.notify(tx, 'email_changed_notification', oldEmail, { email, oldEmail, data }, meta)
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
  await mailer.notify(tx, 'phone_changed_notification', email, { email, phone, oldPhone, data }, meta)
}

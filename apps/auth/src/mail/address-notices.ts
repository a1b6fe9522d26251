import { type RequestMeta } from '../requests/request-meta.js'
import { type User } from '../users/user.js'
import { type Mailer } from './mailer.js'

/** Tells the address that lost its account (contract 10.1); not whoever had none before. */
export async function tellEmailChanged(
  mailer: Mailer,
  before: User,
  email: string,
  meta: RequestMeta,
): Promise<void> {
  const { email: oldEmail, userMetadata: data } = before
  if (oldEmail !== null && oldEmail !== email)
    await mailer.notify('email_changed_notification', oldEmail, { email, oldEmail, data }, meta)
}

export async function tellPhoneChanged(
  mailer: Mailer,
  before: User,
  after: User,
  meta: RequestMeta,
): Promise<void> {
  const { phone: oldPhone } = before
  const { email, phone, userMetadata: data } = after
  if (oldPhone === null || phone === null || oldPhone === phone || email === null) return
  await mailer.notify('phone_changed_notification', email, { email, phone, oldPhone, data }, meta)
}

import type { User } from '../../users/user.js'
import type { UiTexts } from '../texts.js'

/** What an account is called: its email address, or its phone number. */
export const nameOf = (t: UiTexts, { email, phone }: Pick<User, 'email' | 'phone'>): string =>
  email ?? phone ?? t('account.guest')

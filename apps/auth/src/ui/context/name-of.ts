import type { User } from '../../users/user.js'
import type { UiTexts } from '../texts.js'

/** How the pages name an account: by its email address, otherwise by its phone number. */
export const nameOf = (t: UiTexts, { email, phone }: Pick<User, 'email' | 'phone'>): string =>
  email ?? phone ?? t('account.guest')

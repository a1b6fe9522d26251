import { withoutInvisible } from '@signet/pages/visible'
import { PageRefusal } from './refusals.js'
import type { Sent } from './sign-in-pages.js'

/** The new name of a passkey or a second factor. */
export function newNameIn(sent: Sent): string {
  const name = sent.text('name')
  if (withoutInvisible(name).trim() === '') throw new PageRefusal('invalid', 'refusal.name-missing')
  return name
}

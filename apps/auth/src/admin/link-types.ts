/** What a generated link can be for. */
export const LINK_TYPES = [
  'signup',
  'magiclink',
  'recovery',
  'invite',
  'email_change_current',
  'email_change_new',
] as const
export type GeneratedType = (typeof LINK_TYPES)[number]

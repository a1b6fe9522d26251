/** `type` of a mail link (contract 10.2). */
export type LinkType = 'invite' | 'signup' | 'recovery' | 'magiclink' | 'email_change'

export type LinkConfig = {
  apiExternalUrl: string
  /** AUTH_MAILER_URLPATHS_*; magic links use the one of recovery. */
  urlPaths: { invite: string; confirmation: string; recovery: string; emailChange: string }
}

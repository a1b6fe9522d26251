import type { MailKind } from './kinds.js'

/** `type` of an email link (docs/specification.md#emails). */
export type LinkType = 'invite' | 'signup' | 'recovery' | 'magiclink' | 'email_change'

export type LinkConfig = {
  apiExternalUrl: string
  /** AUTH_MAILER_URLPATHS_*; magic links use the recovery path. */
  urlPaths: { invite: string; confirmation: string; recovery: string; emailChange: string }
}

export type LinkParameters = { token: string; type: LinkType; redirectTo: string }

const PATH_OF = {
  invite: 'invite',
  confirmation: 'confirmation',
  recovery: 'recovery',
  magic_link: 'recovery',
  email_change: 'emailChange',
} as const satisfies Record<Exclude<MailKind, 'reauthentication'>, keyof LinkConfig['urlPaths']>

/** Builds the link of an email (docs/specification.md#emails) from settings only, never from the Host header. */
export function confirmationUrl(
  config: LinkConfig,
  kind: keyof typeof PATH_OF,
  link: LinkParameters,
): string {
  const url = new URL(linkTarget(config.apiExternalUrl, config.urlPaths[PATH_OF[kind]]))
  const own = Object.entries({ token: link.token, type: link.type, redirect_to: link.redirectTo })
  const query = own.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  url.search = [...query, ...(url.search === '' ? [] : [url.search.slice(1)])].join('&')
  return url.href
}

function linkTarget(externalUrl: string, path: string): string {
  if (/^https?:\/\//i.test(path)) return path
  const absolute = path.startsWith('/') ? path : `/${path}`
  const base = new URL(externalUrl)
  const prefix = base.pathname.replace(/\/+$/, '')
  const isWhole = absolute === prefix || absolute.startsWith(`${prefix}/`)
  return `${base.origin}${isWhole ? '' : prefix}${absolute}`
}

import type { Json } from '../support/api.js'
import type { FakeProvider, Reply, Seen } from '../support/fake-provider.js'

/** One OAuth 2 provider: the requests that it gets, its responses, and the resulting identity. */
export type Row = {
  name: string
  authorize: string
  token: string
  basic?: boolean
  scope?: string
  /** Further parameters that the caller must send. */
  query?: Record<string, string>
  env?: Record<string, string>
  tokenAnswer?: Json
  profile: Record<string, ProfileReply>
  /** Checks what the profile calls sent. */
  check?: (provider: FakeProvider, base: string) => void
  /** Members of the identity's data. */
  identity: Json
  /** Members of the profile that mark an address as unverified, for providers that report this. */
  unverified?: Json
  /** Without a verified address, the sign-in ends with a request to confirm it. */
  refused?: boolean
}
type ProfileReply = { body: unknown }

export const json = (body: unknown): ProfileReply => ({ body })

/** Serves a row's successful answers below `/<name>`, with the profile and token answers changed by `change`. */
export function setUp(
  provider: FakeProvider,
  { name, token, tokenAnswer, profile }: Row,
  change: (body: unknown) => unknown = (body) => body,
): void {
  const tokens = { access_token: 'the-access-token', refresh_token: 'the-refresh-token' }
  provider.answer(`POST /${name}${token}`, {
    body: { ...tokens, ...(change(tokenAnswer) as Json | undefined) },
  })
  for (const [route, { body }] of Object.entries(profile))
    provider.answer(route.replace(' ', ` /${name}`), { body: change(body) })
}

/** The token call, and the profile calls, as `METHOD /path` of the fake server. */
export const tokenRoute = ({ name, token }: Row): string => `POST /${name}${token}`
export const profileRoutes = ({ name, profile }: Row): string[] =>
  Object.keys(profile).map((route) => route.replace(' ', ` /${name}`))

const mapMembers = (value: unknown, map: (key: string, value: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((entry: unknown) => mapMembers(entry, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, map(key, mapMembers(member, map))]),
  )
}

/** The answer for an account without an address. */
export const withoutEmail = (body: unknown): unknown =>
  mapMembers(body, (key, value) => (key === 'email' ? undefined : value))

/** The answer for an account whose addresses nobody has confirmed. */
export const unconfirmed =
  ({ unverified = {} }: Row) =>
  (body: unknown): unknown =>
    mapMembers(body, (key, value) => (Object.hasOwn(unverified, key) ? unverified[key] : value))

/** The same answer about someone else, so that no earlier sign-in counts. */
export const anotherPerson =
  ({ identity }: Row) =>
  (body: unknown): unknown =>
    mapMembers(body, (_key, value) => {
      if (String(value) === identity['sub']) return `7${String(value)}`
      return typeof value === 'string' && /^\S+@\S+$/.test(value) ? `other-${value}` : value
    })

export const isBasic = ({ headers }: Seen): boolean => headers['authorization'] !== undefined
export type Failure = [name: string, route: string, reply: Reply]

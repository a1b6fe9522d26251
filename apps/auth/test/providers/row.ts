import type { Json } from '../support/api.js'
import type { FakeProvider, Reply, Seen } from '../support/fake-provider.js'

/** One OAuth 2 provider: the requests that it gets, its responses, and the resulting identity. */
export type Row = {
  name: string
  authorize: string
  token: string
  basic?: boolean
  scope?: string
  /** More that the caller must say. */
  query?: Record<string, string>
  env?: Record<string, string>
  tokenAnswer?: Json
  profile: Record<string, ProfileReply>
  /** What the profile calls must have carried. */
  check?: (provider: FakeProvider, base: string) => void
  /** Members of the identity's data. */
  identity: Json
  /** Members of the profile that say of an address that it is not verified, for providers that tell. */
  unverified?: Json
  /** Where there is no verified address the sign-in ends in a request to confirm it. */
  refused?: boolean
}
type ProfileReply = { body: unknown }

export const json = (body: unknown): ProfileReply => ({ body })

/** Sets a row's server up below `/<name>`: all goes well, and profile and token answer are changed by `change`. */
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

/** The answer of an account without address. */
export const withoutEmail = (body: unknown): unknown =>
  mapMembers(body, (key, value) => (key === 'email' ? undefined : value))

/** The answer of an account whose addresses nobody has confirmed. */
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

import type { Harness } from './harness.js'
import type { User } from './identity-double.js'
import type { OAuthTester } from './oauth.js'

type Created = { id: string; token: string; hint: string; created_at: string; expires_at: string }
type Listed = { items: { id: string; status: string }[] }

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Requests about personal tokens, spelled out so that a test can change any part. */
export function personalTokens(harness: Harness, oauth: OAuthTester) {
  const jwt = (user: User, ageSeconds = 0) =>
    harness.identity.jwtFor(user, { iat: Math.floor(Date.now() / 1000) - ageSeconds })
  return {
    bearer,
    jwt,
    create: (token: string, body: unknown = { name: 'my laptop' }) =>
      oauth.json<Created>('/account/tokens', {
        method: 'POST',
        headers: { ...bearer(token), 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    list: async (user: User) =>
      (await oauth.json<Listed>('/account/tokens', { headers: bearer(jwt(user)) })).body.items,
    revoke: (token: string, id: string) =>
      oauth.json(`/account/tokens/${id}`, { method: 'DELETE', headers: bearer(token) }),
  }
}

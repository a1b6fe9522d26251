import type { KeyRules, ListedKey } from './signing-key-service.js'
import type { SigningKey } from './signing-key.js'

/** What a command prints: as text for people, as JSON for programs. */
export type KeysReport = { text: string; json: object }

export function listReport(keys: readonly ListedKey[], { signsWith }: KeyRules): KeysReport {
  const signsInstead = SIGNS_INSTEAD[signsWith]
  const rows = keys.map((key) => [key.kid, key.alg, meaningOf(key)] as const)
  const width = Math.max(3, ...rows.map(([kid]) => kid.length))
  const table = [['KID', 'ALG', 'STATE'] as const, ...rows].map(
    ([kid, alg, state]) => `${kid.padEnd(width)}  ${alg.padEnd(5)}  ${state}`,
  )
  const none = 'No keys yet: the first server that starts makes one.'
  return {
    text: [...(keys.length > 0 ? table : [none]), ...(signsInstead ? ['', signsInstead] : [])].join('\n'),
    json: { signs_with: signsWith, keys: keys.map(keyJson) },
  }
}

export function rotatedReport(key: SigningKey): KeysReport {
  const starts =
    key.activatesAt > key.createdAt ? `will sign from ${key.activatesAt.toISOString()}` : 'signs from now on'
  return {
    text: `${key.kid} (${key.alg}) is published and ${starts}. Servers take it over by themselves.`,
    json: { kid: key.kid, alg: key.alg, activates_at: key.activatesAt.toISOString() },
  }
}

export const retiredReport = (kid: string): KeysReport => ({
  text: `${kid} is retired: its private half is deleted, and its tokens are refused.`,
  json: { kid, state: 'retired' },
})

const SIGNS_INSTEAD: Record<KeyRules['signsWith'], string | undefined> = {
  own_keys: undefined,
  configured_keys: 'AUTH_JWT_KEYS is set: its keys sign, and those above are neither published nor accepted.',
  secret: 'AUTH_JWT_SIGNING_ALGORITHM is HS256: AUTH_JWT_SECRET signs, and the keys above only verify.',
}

function meaningOf(key: ListedKey): string {
  if (!key.readable) return 'unreadable (sealed with another AUTH_JWT_SECRET)'
  const until = key.supersededAt === null ? '' : ` until ${key.supersededAt.toISOString()}`
  switch (key.state) {
    case 'next':
      return `next, signs from ${key.activatesAt.toISOString()}`
    case 'signing':
      return `signing${until}`
    case 'previous':
      return `previous, verifies until ${key.endsAt?.toISOString()}`
    case 'expired':
      return `expired since ${key.endsAt?.toISOString()}`
    case 'retired':
      return `retired since ${key.retiredAt?.toISOString()}`
  }
}

const keyJson = (key: ListedKey) => ({
  kid: key.kid,
  alg: key.alg,
  state: key.readable ? key.state : 'unreadable',
  created_at: key.createdAt.toISOString(),
  activates_at: key.activatesAt.toISOString(),
  superseded_at: key.supersededAt?.toISOString() ?? null,
  verifies_until: key.endsAt?.toISOString() ?? null,
  retired_at: key.retiredAt?.toISOString() ?? null,
})

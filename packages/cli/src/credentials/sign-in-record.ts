/** What is stored about a sign-in to one service, except the token itself. */
export type SignIn = {
  serviceUrl: string
  /** Used by later sign-ins with a password. */
  identityUrl?: string
  /** May be empty; for display only. */
  email: string
  token: { id: string; name: string; hint: string; expiresAt: string }
}

export type TokenPlace = 'keychain' | 'file'
export type StoredSignIn = SignIn & { place: TokenPlace }

/** Content of the file. `secret` is there only if `place` is `file`. */
export type Records = {
  version: 1
  /** The service of the last sign-in. Commands use it when no address is given, even after signing out. */
  current?: string
  signIns: Record<string, Omit<StoredSignIn, 'serviceUrl'> & { secret?: string }>
}

export const noRecords = (): Records => ({ version: 1, signIns: {} })

/** Null if the text is not the content of such a file. */
export function parseRecords(text: string): Records | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (!isObject(value) || value['version'] !== 1 || !isObject(value['signIns'])) return null
  const { current } = value
  if (current !== undefined && typeof current !== 'string') return null
  return Object.values(value['signIns']).every(isRecord) ? (value as Records) : null
}

function isRecord(value: unknown): boolean {
  if (!isObject(value) || !isObject(value['token'])) return false
  const token = value['token']
  const isToken = ['id', 'name', 'hint', 'expiresAt'].every((member) => typeof token[member] === 'string')
  const isPlaced =
    value['place'] === 'keychain' || (value['place'] === 'file' && typeof value['secret'] === 'string')
  return isToken && isPlaced && typeof value['email'] === 'string'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

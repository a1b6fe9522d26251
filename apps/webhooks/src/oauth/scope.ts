/** The scope of /v1, and the only one that is advertised. */
export const SCOPE_CONNECT = 'mcp:connect'
/** For the command-line tool only: creating, listing and revoking personal tokens. */
export const SCOPE_MANAGE_TOKENS = 'tokens:manage'

// RFC 6749 section 3.3: printable ASCII without space, quote and backslash.
const SCOPE_LIST = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/

export const isScopeList = (text: string): boolean => SCOPE_LIST.test(text)

/** The scopes of `wanted` that are also in `allowed`, in the order of `wanted`, each once. */
export function narrowScope(wanted: string, allowed: string): string {
  const known = allowed.split(' ')
  return [...new Set(wanted.split(' '))].filter((scope) => known.includes(scope)).join(' ')
}

export const isSubsetOf = (wanted: string, allowed: string): boolean =>
  wanted.split(' ').every((scope) => allowed.split(' ').includes(scope))

export const hasScope = (granted: string, scope: string): boolean => granted.split(' ').includes(scope)

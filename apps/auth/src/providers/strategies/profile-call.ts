import type { Outbound } from '../../outbound/outbound.js'
import { ProviderError } from '../model/provider.js'

/** The answer to a GET with the access token; rejects unless it is a 2xx. */
export async function profileText(
  outbound: Outbound,
  url: string,
  accessToken: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { status, text } = await outbound.request({
    url,
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${accessToken}`,
      'user-agent': 'signet-auth',
      ...headers,
    },
  })
  if (status < 200 || status > 299) throw new ProviderError(`the profile call has status ${status}`)
  return text
}

export function profileJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ProviderError('the profile is not JSON', { cause })
  }
}

/** Parses a profile, which must be an object or a list. */
export function jsonObject(text: string): object {
  const profile = profileJson(text)
  if (typeof profile === 'object' && profile !== null) return profile
  throw new ProviderError('the profile is not an object')
}

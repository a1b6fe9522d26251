import type { Outbound } from '../../outbound/outbound.js'
import type { JsonObject } from '../../users/user.js'
import { textAt } from '../model/foreign-json.js'
import { ProviderError, type ProviderSettings } from '../model/provider.js'

type Exchange = {
  url: string
  settings: ProviderSettings
  /** The method to try first. If it gets a 401, the other one is tried (docs/specification.md#providers). */
  authentication: 'post' | 'basic'
  parameters: Readonly<Record<string, string>>
}

/** Exchanges a code for the token response: any JSON object or form that has an access token. */
export async function exchangeCode(outbound: Outbound, exchange: Exchange): Promise<JsonObject> {
  const other = exchange.authentication === 'post' ? 'basic' : 'post'
  let response = await request(outbound, exchange, exchange.authentication)
  if (response.status === 401) response = await request(outbound, exchange, other)
  const answer = readAnswer(response.text)
  // Some providers return errors with status 200.
  if (response.status < 200 || response.status > 299 || answer['error'] !== undefined)
    throw new ProviderError(
      `the token call failed: ${response.status} ${textAt(answer, 'error') ?? ''}`.trim(),
    )
  return answer
}

function request(
  outbound: Outbound,
  { url, settings, parameters }: Exchange,
  authentication: 'post' | 'basic',
) {
  const { clientIds, secret } = settings
  const clientId = clientIds[0] ?? ''
  const body = new URLSearchParams({ ...parameters, grant_type: 'authorization_code' })
  const headers: Record<string, string> = { accept: 'application/json' }
  if (authentication === 'basic') {
    // RFC 6749 section 2.3.1 requires both to be form-encoded before they are joined.
    const credentials = [clientId, secret].map(encodeURIComponent).join(':')
    headers['authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`
  } else {
    body.set('client_id', clientId)
    body.set('client_secret', secret)
  }
  return outbound.request({ method: 'POST', url, headers, body })
}

function readAnswer(text: string): JsonObject {
  try {
    const answer: unknown = JSON.parse(text)
    if (typeof answer === 'object' && answer !== null && !Array.isArray(answer)) return answer as JsonObject
  } catch {
    return Object.fromEntries(new URLSearchParams(text))
  }
  throw new ProviderError('the token response is not an object')
}

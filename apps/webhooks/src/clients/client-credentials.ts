import type { Request } from 'express'
import { OAuthError } from '../oauth/oauth-error.js'
import { invalidClient } from './client.js'
import type { ClientCredentials } from './client-service.js'

type Form = { readonly client_id?: string | undefined; readonly client_secret?: string | undefined }

/**
 * Reads the client's credentials from the Basic header or the form (RFC 6749 section 2.3.1, docs/specification.md#token-requests).
 * Accepts either method, no matter which one the client registered, because some libraries choose by the server's metadata.
 */
export function clientCredentials(req: Request, form: Form): ClientCredentials {
  const header = req.get('authorization')
  if (header === undefined || !/^basic( |$)/i.test(header)) return fromForm(form)
  if (form.client_secret !== undefined)
    throw new OAuthError('invalid_request', 'Only one method of client authentication may be used')
  const { clientId, secret } = fromHeader(header.slice('basic '.length).trim())
  if (form.client_id !== undefined && form.client_id !== clientId)
    throw new OAuthError('invalid_request', 'client_id differs from the Authorization header')
  return { clientId, secret }
}

function fromForm({
  client_id,
  client_secret = null,
}: {
  client_id?: string | undefined
  client_secret?: string | null | undefined
}): ClientCredentials {
  if (client_id === undefined) throw invalidClient()
  return { clientId: client_id, secret: client_secret }
}

// Some libraries send an empty password for a public client.
function fromHeader(base64: string): ClientCredentials {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(base64)) throw invalidClient()
  const [, clientId, secret] = /^([^:]*):([^]*)$/.exec(Buffer.from(base64, 'base64').toString('utf8')) ?? []
  if (clientId === undefined || clientId === '') throw invalidClient()
  return { clientId: formDecode(clientId), secret: secret ? formDecode(secret) : null }
}

/** Some libraries form-encode credentials and some do not. Both work, because our credentials contain no character that this changes. */
function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalidClient()
  }
}

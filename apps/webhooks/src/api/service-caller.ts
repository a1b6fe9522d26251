import { createHash, timingSafeEqual } from 'node:crypto'
import type { Request } from 'express'
import type { ServiceToken } from '../config/config-values.js'
import { ChallengeError } from '../errors/api-errors.js'

/** A service of ours that may use the internal API, by its name in the configuration. */
export type ServiceCaller = { name: string }

const BEARER = /^Bearer +([A-Za-z0-9._~+/=-]{1,512})$/i

/** Checks service tokens (docs/specification.md#internal-api). Compares all configured tokens, even after a match. */
export function serviceAuthenticator(tokens: readonly ServiceToken[]): (req: Request) => ServiceCaller {
  return (req) => {
    const [, token] = BEARER.exec(req.get('authorization') ?? '') ?? []
    if (token === undefined) throw refused('A service token is required', CHALLENGE)
    const digest = createHash('sha256').update(token).digest()
    let name: string | undefined
    for (const candidate of tokens) if (timingSafeEqual(candidate.digest, digest)) name = candidate.name
    if (name === undefined)
      throw refused('The service token is invalid', `${CHALLENGE}, error="invalid_token"`)
    return { name }
  }
}

const CHALLENGE = 'Bearer realm="internal"'
const refused = (message: string, challenge: string) =>
  new ChallengeError('unauthenticated', message, challenge)

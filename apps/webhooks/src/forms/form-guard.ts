import { AppError } from '@signet/errors'
import type { Request } from 'express'
import type { Parameters } from '../oauth/parameters.js'
import { isCsrfToken, type FormName } from '../sessions/csrf.js'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { OpenSession, SessionService } from '../sessions/session-service.js'

type Deps = { origin: string; cookie: SessionCookie; sessions: SessionService }

/** The checks that every form post must pass before it changes anything (docs/specification.md#page-protection). */
export class FormGuard {
  constructor(private readonly deps: Deps) {}

  /** The session that the form belongs to; anything suspicious is one and the same 403 page. */
  async check(
    req: Request,
    form: FormName,
    fields: Parameters,
  ): Promise<{ session: OpenSession; txn: string }> {
    const txn = fields.get('txn') ?? ''
    if (!this.#isSameOrigin(req)) throw refused()
    const session = await this.deps.sessions.find(this.deps.cookie.read(req))
    if (!session || !isCsrfToken(session, txn, form, fields.get('csrf') ?? '')) throw refused()
    return { session, txn }
  }

  #isSameOrigin(req: Request): boolean {
    const origin = req.get('origin')
    const site = req.get('sec-fetch-site')
    return (
      (origin === undefined || origin === this.deps.origin) && (site === undefined || site === 'same-origin')
    )
  }
}

const refused = () =>
  new AppError('forbidden', 'access_denied', 'This form did not come from a page open in this browser.')

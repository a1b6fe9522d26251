import type { Request } from 'express'
import { PageError, type PageErrorKey } from '../errors/page-error.js'
import type { Parameters } from '../oauth/parameters.js'
import { isCsrfToken, type FormName } from '../sessions/csrf.js'
import type { SessionCookie } from '../sessions/session-cookie.js'
import type { OpenSession, SessionService } from '../sessions/session-service.js'

type Deps = { origin: string; cookie: SessionCookie; sessions: SessionService }

/** The checks that every form post must pass before it changes anything (docs/specification.md#page-protection). */
export class FormGuard {
  constructor(private readonly deps: Deps) {}

  /**
   * Returns the session that the form belongs to. A form of another session gets a 403 page, which says so if the person has been
   * signed out.
   */
  async check(
    req: Request,
    form: FormName,
    fields: Parameters,
  ): Promise<{ session: OpenSession; txn: string }> {
    const txn = fields.get('txn') ?? ''
    if (!this.#isSameOrigin(req)) throw refused('error.form')
    const session = await this.deps.sessions.find(this.deps.cookie.read(req))
    if (!session) throw new SignedOutError()
    // Only people who are signed in get forms.
    if (session.accountId === null) throw new SignedOutError()
    if (isCsrfToken(session, txn, form, fields.get('csrf') ?? '')) return { session, txn }
    throw refused('error.other-sign-in')
  }

  #isSameOrigin(req: Request): boolean {
    const origin = req.get('origin')
    const site = req.get('sec-fetch-site')
    return (
      (origin === undefined || origin === this.deps.origin) && (site === undefined || site === 'same-origin')
    )
  }
}

const refused = (key: PageErrorKey) => new PageError('forbidden', 'access_denied', key)

/** The form's session has ended, or nobody is signed in to it anymore. */
export class SignedOutError extends PageError {
  constructor() {
    super('forbidden', 'access_denied', 'error.signed-out')
  }
}

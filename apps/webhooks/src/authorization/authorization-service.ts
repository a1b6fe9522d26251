import { isUnavailable, type Db } from '@signet/db'
import { isAppError } from '@signet/errors'
import type { RequestMeta } from '@signet/telemetry'
import type { Client } from '../clients/client.js'
import type { ClientService } from '../clients/client-service.js'
import { PageError } from '../errors/page-error.js'
import type { SubmissionService } from '../forms/submission-service.js'
import type { RedirectAllowList } from '../redirects/redirect-allow-list.js'
import { matchesRegistered, withParameters } from '../redirects/redirect-uri.js'
import { hasFormOf, newCredential, sha256 } from '../credentials/credential.js'
import type { Observer } from '../observers/observer.js'
import { OAuthError } from '../oauth/oauth-error.js'
import type { Parameters } from '../oauth/parameters.js'
import type { ResourcePolicy } from '../oauth/resource-policy.js'
import { isSessionGone } from '../sessions/session-gone.js'
import type { OpenSession, SessionService } from '../sessions/session-service.js'
import type { Session } from '../sessions/session-store.js'
import type { SignInWish } from '../sign-in/sign-in-service.js'
import { grantedScope, maxAgeOf, phaseTwoChecks, promptsOf } from './authorize-checks.js'
import {
  CLOCK_SKEW_SECONDS,
  decideAuthorization,
  findPendingAuthorization,
  insertAuthorization,
  isOpenCode,
  type PendingAuthorization,
} from './authorization-store.js'

/** Where the answer to an authorization request may be sent. Known once client and redirect URI are established. */
type Target = { client: Client; redirectUri: string; redirectUriSent: boolean; state: string | undefined }

export type Begun =
  | { kind: 'redirect'; location: string }
  /** The browser got another session since it sent the request, and should send it again. */
  | { kind: 'again' }
  | {
      kind: 'page'
      txn: string
      session: OpenSession
      authorization: PendingAuthorization
      wish: SignInWish
    }

type Deps = {
  db: Db
  issuer: string
  clients: ClientService
  sessions: SessionService
  submissions: SubmissionService
  allowList: RedirectAllowList
  resources: ResourcePolicy
  codeTtlSeconds: number
  observer: Observer
  now: () => Date
}

const MAX_LOGIN_HINT_LENGTH = 320
/** The stored result of a decision that came too late. */
const NOWHERE = ''

/** The rules of the authorization endpoint (docs/specification.md#authorization-request). */
export class AuthorizationService {
  constructor(private readonly deps: Deps) {}

  /**
   * Checks a request and stores it as pending. In the first phase, throws an OAuthError for an error page: without a trusted redirect
   * URI, nothing may be sent anywhere. Later errors become a redirect with `error`.
   */
  async begin(parameters: Parameters, sessionId: string | undefined, meta: RequestMeta): Promise<Begun> {
    const target = await this.#findTarget(parameters)
    try {
      return await this.#store(parameters, target, sessionId)
    } catch (error) {
      if (isSessionGone(error)) return { kind: 'again' }
      const parameters = errorParameters(error)
      this.deps.observer.authorizationRefused(parameters.error, error, meta)
      return { kind: 'redirect', location: this.#answer(target, parameters) }
    }
  }

  /** Returns the pending request `txn` of this session. Null if it is unknown, decided, expired or belongs to another session. */
  async findPending(session: Session, txn: string): Promise<PendingAuthorization | null> {
    if (!hasFormOf('txn', txn)) return null
    return findPendingAuthorization(this.deps.db, { txnHash: sha256(txn), sessionHash: session.idHash })
  }

  /**
   * Consumes the request and returns where to send the browser, or null if there was nothing to decide. If a button is pressed twice,
   * browsers drop the first response, so the second press leads to the same place as long as the code is unused.
   */
  async decide(session: Session, txn: string, approved: boolean, meta: RequestMeta): Promise<string | null> {
    if (!hasFormOf('txn', txn)) return null
    const sent = { form: txn, path: 'decision', fields: { approved } }
    let isFirst = false
    const { to } = await this.deps.submissions.once(session, sent, async () => {
      isFirst = true
      return { to: (await this.#decide(session, txn, approved, meta)) ?? NOWHERE }
    })
    if (to === NOWHERE) return null
    return isFirst || (await this.#maybeFollowed(to)) ? to : null
  }

  async #decide(session: Session, txn: string, approved: boolean, meta: RequestMeta): Promise<string | null> {
    const code = newCredential('code')
    const decision = await decideAuthorization(this.deps.db, {
      txnHash: sha256(txn),
      sessionHash: session.idHash,
      codeHash: approved ? sha256(code) : null,
      codeTtlSeconds: this.deps.codeTtlSeconds,
    })
    if (!decision) return null
    const { clientId, accountId } = decision
    this.deps.observer.consentDecided({ approved, clientId, accountId }, meta)
    return this.#answer(
      { redirectUri: decision.redirectUri, state: decision.state ?? undefined },
      approved ? { code } : { error: 'access_denied', error_description: 'The user denied the request' },
    )
  }

  /** Avoids sending the browser to a code that was used already: an application that redeems a code twice loses what the code granted. */
  async #maybeFollowed(location: string): Promise<boolean> {
    const code = new URL(location).searchParams.get('code')
    return code === null || isOpenCode(this.deps.db, sha256(code))
  }

  /** The first phase (docs/specification.md#authorization-request): errors here are pages. */
  async #findTarget(parameters: Parameters): Promise<Target> {
    const clientId = parameters.get('client_id')
    if (clientId === undefined || parameters.isRepeated('client_id'))
      throw new OAuthError('invalid_request', 'client_id must be sent exactly once')
    const client = await this.deps.clients.find(clientId)
    if (!client || client.disabled) throw unknownClient()
    const sent = parameters.get('redirect_uri')
    const only = client.redirectUris.length === 1 ? client.redirectUris[0] : undefined
    const redirectUri = sent ?? only
    if (redirectUri === undefined || parameters.isRepeated('redirect_uri'))
      throw new OAuthError('invalid_request', 'redirect_uri must be sent exactly once')
    const registered = client.redirectUris.some((uri) => matchesRegistered(redirectUri, uri))
    if (!registered || !this.deps.allowList.allows(redirectUri))
      throw new OAuthError('invalid_request', 'redirect_uri is not one that this application may use')
    return { client, redirectUri, redirectUriSent: sent !== undefined, state: parameters.get('state') }
  }

  /** The second phase: checks the rest of the request and stores it as pending. */
  async #store(parameters: Parameters, target: Target, sessionId: string | undefined): Promise<Begun> {
    const { client, redirectUri, redirectUriSent, state = null } = target
    for (const check of phaseTwoChecks) check({ parameters, client, resources: this.deps.resources })
    const prompts = promptsOf(parameters)
    const maxAge = maxAgeOf(parameters)
    if (prompts.has('none')) throw await this.#promptNone(sessionId, maxAge)
    const session = await this.deps.sessions.findOrCreate(sessionId)
    const scope = grantedScope(parameters, client)
    const freshLogin = prompts.has('login') || prompts.has('select_account')
    const txn = newCredential('txn')
    const needsSignIn = await insertAuthorization(this.deps.db, {
      txnHash: sha256(txn),
      sessionHash: session.idHash,
      clientId: client.clientId,
      redirectUri,
      redirectUriSent,
      state,
      scope,
      resources: parameters.all('resource'),
      codeChallenge: parameters.get('code_challenge') ?? '',
      freshLogin,
      maxAge,
    })
    return {
      kind: 'page',
      txn,
      session,
      authorization: {
        clientName: client.clientName,
        redirectUri,
        scope,
        needsSignIn,
        freshLogin,
        maxAge,
        refreshes: client.grantTypes.includes('refresh_token'),
      },
      wish: {
        prompt: prompts.has('login') ? 'login' : freshLogin ? 'select_account' : undefined,
        maxAge: maxAge ?? undefined,
        loginHint: parameters.get('login_hint')?.slice(0, MAX_LOGIN_HINT_LENGTH),
      },
    }
  }

  /** The error for `prompt=none`. Nothing can be granted without a page, because consent is asked every time. */
  async #promptNone(sessionId: string | undefined, maxAge: number | null): Promise<OAuthError> {
    const session = await this.deps.sessions.find(sessionId)
    const provedAt = session?.provedAt?.getTime() ?? 0
    const isTooOld =
      maxAge !== null && provedAt < this.deps.now().getTime() - (maxAge + CLOCK_SKEW_SECONDS) * 1000
    return session?.accountId == null || isTooOld
      ? new OAuthError('login_required', 'The user has to sign in')
      : new OAuthError('consent_required', 'The user has to consent')
  }

  /** RFC 9207: every answer contains its issuer. */
  #answer(
    { redirectUri, state }: { redirectUri: string; state: string | undefined },
    parameters: Readonly<Record<string, string>>,
  ): string {
    return withParameters(redirectUri, { ...parameters, state, iss: this.deps.issuer })
  }
}

/** This is not a failed authentication, so it is a 400 without a challenge. */
const unknownClient = () => new PageError('invalid', 'invalid_client', 'error.unregistered')

function errorParameters(error: unknown): { error: string; error_description: string } {
  if (isAppError(error)) return { error: error.code, error_description: error.message }
  if (isUnavailable(error))
    return { error: 'temporarily_unavailable', error_description: 'A required service is unavailable' }
  return { error: 'server_error', error_description: 'Something went wrong on our side' }
}

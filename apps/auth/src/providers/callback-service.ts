import { randomUUID, type KeyObject } from 'node:crypto'
import pTimeout from 'p-timeout'
import type { Db, Tx } from '@signet/db'
import { isAppError } from '@signet/errors'
import type { Audit } from '../audit/audit-log.js'
import { databaseError } from '../database/database-error.js'
import { authError } from '../errors/auth-error.js'
import type { OAuthFlow, OAuthFlowStore } from '../flows/oauth-flow-store.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { sha256 } from '../secrets/derived-keys.js'
import { seal, tryUnseal } from '../secrets/sealed-box.js'
import type { SessionService } from '../sessions/session-service.js'
import type { SignedIn } from '../sessions/session.js'
import type { User } from '../users/user.js'
import { isUuid } from '../users/uuid.js'
import { withUsableEmails, type External } from './linking/external-identities.js'
import type { ExternalSignIn, Purpose } from './linking/external-sign-in.js'
import type { ProviderRegistry } from './provider-registry.js'
import { ProviderError, type ProviderTokens } from './model/provider.js'

/** Parameters of the callback, from query or form. */
export type CallbackParameters = Readonly<Record<string, string>>

export type CallbackResult =
  | { kind: 'session'; signedIn: SignedIn; provider: string; tokens: ProviderTokens }
  | { kind: 'code'; code: string }

type Deps = {
  db: Db
  flows: OAuthFlowStore
  registry: ProviderRegistry
  signIns: ExternalSignIn
  sessions: SessionService
  encryption: KeyObject
  flowLifeMs: number
  /**
   * Time for all calls to a provider together. It is less than a request may take, so that there is time left to redirect the browser back.
   */
  providerBudgetMs: number
  now: () => Date
}

/** Completes sign-ins through a provider (docs/specification.md#providers). */
export class CallbackService {
  constructor(private readonly deps: Deps) {}

  /** Claims the flow of a state. Throws `bad_oauth_callback`, `bad_oauth_state` or `flow_state_already_used`. */
  async claim(state: string): Promise<OAuthFlow> {
    const { db, flows, flowLifeMs, now } = this.deps
    if (state === '') throw authError('invalid', 'bad_oauth_callback', 'OAuth state parameter missing')
    const claim = isUuid(state) ? await flows.claim(db, state, now()) : { kind: 'unknown' as const }
    if (claim.kind === 'already_used')
      throw authError('invalid', 'flow_state_already_used', 'The OAuth state was already used')
    if (claim.kind === 'unknown') throw badState('OAuth state not found')
    if (claim.createdAt.getTime() + flowLifeMs <= now().getTime()) throw badState('OAuth state has expired')
    return claim.flow
  }

  /** Signs in the user of a claimed flow, links the identity, or accepts an invitation. */
  async complete(
    flow: OAuthFlow,
    parameters: CallbackParameters,
    aud: string,
    meta: RequestMeta,
  ): Promise<CallbackResult> {
    try {
      const { external, tokens } = await this.#identifyInTime(flow, parameters)
      return await this.deps.signIns.run(
        {
          external: { ...external, from: meta.client },
          purpose: purposeOf(flow, aud),
          redirectTo: flow.referrer,
        },
        meta,
        (tx, audit, user) => this.#finish(tx, audit, { flow, user, tokens }, meta),
      )
    } catch (error) {
      throw databaseError(error) ?? error
    } finally {
      await this.abandon(flow)
    }
  }

  /** Removes a flow that is over. With PKCE, the flow stays until its code is exchanged or the clean-up removes it. */
  async abandon(flow: OAuthFlow): Promise<void> {
    if (flow.challenge === null) await this.deps.flows.remove(this.deps.db, flow.id)
  }

  #identifyInTime(
    flow: OAuthFlow,
    parameters: CallbackParameters,
  ): Promise<{ external: Omit<External, 'from'>; tokens: ProviderTokens }> {
    return pTimeout(this.#identify(flow, parameters), {
      milliseconds: this.deps.providerBudgetMs,
      fallback: () => {
        throw exchangeFailed(new ProviderError('the provider took too long'))
      },
    })
  }

  /** Makes all calls to the provider, before any transaction. */
  async #identify(
    flow: OAuthFlow,
    parameters: CallbackParameters,
  ): Promise<{ external: Omit<External, 'from'>; tokens: ProviderTokens }> {
    const { registry } = this.deps
    const provider = registry.find(flow.provider)
    if (provider === undefined)
      throw authError('invalid', 'oauth_provider_not_supported', 'The provider is no longer enabled')
    const answer = provider.definition.protocol === 'oauth1' ? parameters['oauth_token'] : parameters['code']
    if (answer === undefined || answer === '')
      throw authError('invalid', 'bad_oauth_callback', 'OAuth callback with missing authorization code')
    const secret = flow.secret === null ? null : tryUnseal(this.deps.encryption, flow.id, flow.secret)
    // The cookie of such a flow no longer counts either, so the person has to begin again.
    if (flow.secret !== null && secret === null) throw badState('OAuth state was stored with another secret')
    const save = () => Promise.reject(new Error('the flow is stored already'))
    try {
      const query = { ...parameters, state: flow.id }
      const outcome = await provider.authenticate({
        query,
        body: {},
        flow: { id: flow.id, secret, save },
      })
      if (outcome.kind !== 'tokens') throw new Error('a strategy without tokens')
      const { tokens } = outcome
      const profile = withUsableEmails(await provider.profile(tokens, parameters))
      if (profile.emails.length === 0 && !flow.emailOptional)
        throw authError('internal', 'unexpected_failure', 'Error getting user email from external provider')
      return { external: { provider: flow.provider, profile }, tokens }
    } catch (cause) {
      if (isAppError(cause)) throw cause
      throw exchangeFailed(cause)
    }
  }

  async #finish(
    tx: Tx,
    audit: Audit,
    { flow, user, tokens }: { flow: OAuthFlow; user: User; tokens: ProviderTokens },
    meta: RequestMeta,
  ): Promise<CallbackResult> {
    const { flows, sessions, encryption, now } = this.deps
    if (flow.challenge === null) {
      audit('login', user, { provider: flow.provider })
      const signedIn = await sessions.openByProvider(tx, user, flow.provider, meta)
      return { kind: 'session', signedIn, provider: flow.provider, tokens }
    }
    const code = randomUUID()
    const sealed = (token: string) => seal(encryption, flow.id, token)
    const result = {
      userId: user.id,
      codeHash: sha256(code),
      accessToken: sealed(tokens.accessToken),
      refreshToken: tokens.refreshToken === undefined ? null : sealed(tokens.refreshToken),
    }
    await flows.finish(tx, flow.id, result, now())
    return { kind: 'code', code }
  }
}

function purposeOf(flow: OAuthFlow, aud: string): Purpose {
  if (flow.linkingTarget !== null) return { kind: 'link', ...flow.linkingTarget }
  if (flow.inviteTokenHash !== null) return { kind: 'accept_invite', tokenHash: flow.inviteTokenHash }
  return { kind: 'sign_in', aud }
}

const exchangeFailed = (cause: unknown) =>
  authError('internal', 'unexpected_failure', 'Unable to exchange external code', { cause })

const badState = (message: string) => authError('invalid', 'bad_oauth_state', message)

import { randomUUID, type KeyObject } from 'node:crypto'
import type { Queryable } from '@signet/db'
import { authError, invalid } from '../errors/auth-error.js'
import { challengeOf } from '../flows/pkce.js'
import type { OAuthFlowStore } from '../flows/oauth-flow-store.js'
import type { TokenHashes } from '../one-time-tokens/one-time-token.js'
import type { KeyedLimit } from '../rate-limits/rate-limits.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { Live } from '../sessions/session.js'
import { seal } from '../secrets/sealed-box.js'
import type { Invitations } from './linking/invitations.js'
import type { ConfiguredProvider, ProviderRegistry } from './provider-registry.js'

export type AuthorizeRequest = {
  /** The query of the request: our own parameters, and others that are passed on to the provider. */
  query: Readonly<Record<string, string>>
  redirectTo: string
  /** The user who adds a sign-in method. */
  linkingTarget: Live | null
}

/** Where to send the browser, and the state that it must bring back. */
export type Departure = {
  /** The provider's own name, even if the request used another one. */
  readonly provider: string
  readonly url: string
  readonly state: string
  /** Whether the provider returns with a form post. */
  readonly posted: boolean
}

type Deps = {
  db: Queryable
  flows: OAuthFlowStore
  invitations: Invitations
  hashes: TokenHashes
  registry: ProviderRegistry
  /** Limits how often anyone may begin a sign-in, because each one stores a row. */
  limit: KeyedLimit
  encryption: KeyObject
  now: () => Date
}

/** Parameters that are ours, or that callers must not set (docs/specification.md#providers); compared in lower case. */
const RESERVED = new Set([
  ...['client_id', 'client_secret', 'redirect_uri', 'response_type', 'state', 'scope'],
  ...['code_challenge', 'code_challenge_method', 'code_verifier', 'response_mode'],
  // A request object would replace all parameters that we send (RFC 9101).
  ...['request', 'request_uri', 'registration'],
  ...['provider', 'scopes', 'redirect_to', 'invite_token', 'skip_http_redirect', 'workos_provider'],
])

/** Starts sign-ins through a provider (docs/specification.md#providers). */
export class AuthorizeService {
  constructor(private readonly deps: Deps) {}

  /** Returns where to send the browser. The flow's row is stored before the redirect. */
  async begin(
    { query, redirectTo, linkingTarget }: AuthorizeRequest,
    meta: Pick<RequestMeta, 'client' | 'requestId'>,
  ): Promise<Departure> {
    const { registry, limit } = this.deps
    const provider = registry.get(query['provider'] ?? '')
    const challenge = challengeOf(query)
    const parameters = authorizeParameters(provider, query)
    await limit.consume(meta.client, meta.requestId)
    const flow = {
      id: randomUUID(),
      provider: provider.name,
      challenge,
      referrer: redirectTo,
      inviteTokenHash: await this.#inviteHash(query['invite_token']),
      linkingTarget: linkingTarget && { userId: linkingTarget.user.id, sessionId: linkingTarget.session.id },
      emailOptional: provider.settings.emailOptional,
    }
    let notSaved: unknown
    const save = (secret: string | null) =>
      this.#save({ ...flow, secret }).catch((error: unknown) => {
        notSaved = error
        throw error
      })
    const outcome = await provider
      .authenticate(
        {
          query: {},
          body: {},
          flow: { id: flow.id, secret: null, save },
        },
        {
          scope: scopesOf(provider, query['scopes']),
          callbackURL: callbackUrl(provider, flow.id),
          parameters,
        },
      )
      .catch((cause: unknown) => {
        // If the database fails, that is not the provider's fault.
        if (notSaved instanceof Error) throw notSaved
        throw authError('internal', 'unexpected_failure', 'The provider could not be reached', { cause })
      })
    if (outcome.kind !== 'redirect') throw new Error('a strategy without a redirect')
    return {
      provider: provider.name,
      url: outcome.url,
      state: flow.id,
      posted: parameters['response_mode'] === 'form_post',
    }
  }

  async #save(flow: Parameters<OAuthFlowStore['insert']>[1]): Promise<void> {
    const { db, flows, encryption, now } = this.deps
    const secret = flow.secret === null ? null : seal(encryption, flow.id, flow.secret)
    await flows.insert(db, { ...flow, secret }, now())
  }

  async #inviteHash(token: string | undefined): Promise<Buffer | null> {
    if (token === undefined || token === '') return null
    const { db, invitations, hashes } = this.deps
    const hash = hashes.ofLink(token)
    if ((await invitations.find(db, hash)) === null)
      throw authError('not_found', 'user_not_found', 'User identified by token not found')
    return hash
  }
}

/** The default scopes first, then the requested ones, without duplicates. */
function scopesOf({ definition }: ConfiguredProvider, requested = ''): string[] {
  const extra = requested.split(/[\s,]+/).filter((scope) => scope !== '')
  return [...new Set([...definition.scopes, ...extra])]
}

/** OAuth 1.0a has no state parameter, so it travels in the callback URL. */
function callbackUrl({ definition, settings }: ConfiguredProvider, flowId: string): string {
  if (definition.protocol !== 'oauth1') return settings.redirectUri
  const url = new URL(settings.redirectUri)
  url.searchParams.set('state', flowId)
  return url.href
}

function authorizeParameters(
  { definition }: ConfiguredProvider,
  query: Readonly<Record<string, string>>,
): Record<string, string> {
  const passed = Object.entries(query).filter(([name]) => !isReserved(name))
  if (passed.some(([name]) => name.length > 128)) throw invalid('A parameter name is too long')
  return { ...Object.fromEntries(passed), ...definition.authorizeParameters?.(query) }
}

/** Some providers read `redirect_uri[]` as another `redirect_uri`. */
const isReserved = (name: string): boolean => RESERVED.has(name.toLowerCase().split('[', 1)[0] ?? '')

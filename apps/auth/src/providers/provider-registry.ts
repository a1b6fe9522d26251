import type { JwtClaims } from '@signet/jwt'
import { invalid } from '../errors/auth-error.js'
import type { Outbound } from '../outbound/outbound.js'
import { definitions, providers, type Provider } from './definitions/index.js'
import { textAt } from './model/foreign-json.js'
import { claimedIssuer, type IdTokenVerifier } from './open-id/id-token-verifier.js'
import {
  ProviderError,
  type Endpoint,
  type ProviderDefinition,
  type ProviderProfile,
  type ProviderSettings,
  type ProviderTokens,
} from './model/provider.js'
import { profileJson } from './strategies/profile-call.js'
import type { ProviderPassport, StrategyOutcome } from './strategies/provider-passport.js'
import type { Protocol, StrategyOptions, StrategyRequest } from './strategies/strategy.js'

/** An enabled provider. */
export type ConfiguredProvider = {
  readonly name: Provider
  readonly definition: ProviderDefinition
  readonly settings: ProviderSettings
  /** Starts the redirect to the provider, or redeems the code that the browser brought back. */
  authenticate(req: StrategyRequest, options?: StrategyOptions): Promise<StrategyOutcome>
  /** Fetches the profile from the provider. Rejects with {@link ProviderError} or a connection error. */
  profile(tokens: ProviderTokens, callback: Readonly<Record<string, string>>): Promise<ProviderProfile>
}

type Deps = {
  settings: Readonly<Record<Provider, ProviderSettings>>
  outbound: Outbound
  idTokens: IdTokenVerifier
  /** AUTH_ALLOW_PRIVATE_PROVIDER_URLS: the base URL setting then also applies to providers with a fixed one. */
  allowPrivateUrls: boolean
}

/** The configured providers of docs/specification.md#providers. */
export class ProviderRegistry {
  readonly #names = new Map<string, Provider>()
  readonly #configured = new Map<Provider, ConfiguredProvider>()

  constructor(private readonly deps: Deps) {
    for (const provider of providers) {
      const definition: ProviderDefinition = definitions[provider]
      for (const name of [provider, ...(definition.aliases ?? [])]) this.#names.set(name, provider)
      const settings = this.settingsOf(provider)
      if (settings.enabled) this.#configured.set(provider, this.#configure(provider, definition, settings))
    }
  }

  /** The provider with this name or alias, in any letter case. Throws 400 `validation_failed` if it cannot be used. */
  get(name: string): ConfiguredProvider {
    const known = this.#names.get(name.toLowerCase())
    if (known === undefined)
      throw invalid(`Unsupported provider: ${`Provider ${name}`.trimEnd()} could not be found`)
    const configured = this.#configured.get(known)
    if (configured === undefined) throw invalid('Unsupported provider: provider is not enabled')
    return configured
  }

  /** The provider of an earlier flow; undefined when it is no longer enabled. */
  find(name: string): ConfiguredProvider | undefined {
    const known = this.#names.get(name)
    return known && this.#configured.get(known)
  }

  /** Providers that a page can offer with just a button. */
  get withButton(): readonly Provider[] {
    return [...this.#configured.values()]
      .filter(({ definition }) => definition.needsParameters !== true)
      .map(({ name }) => name)
  }

  settingsOf(name: Provider): ProviderSettings {
    const settings = this.deps.settings[name]
    const { fixedBaseUrl }: ProviderDefinition = definitions[name]
    return fixedBaseUrl && !this.deps.allowPrivateUrls ? { ...settings, baseUrl: undefined } : settings
  }

  #configure(name: Provider, definition: ProviderDefinition, settings: ProviderSettings): ConfiguredProvider {
    const { outbound } = this.deps
    const endpoint = endpointBelow(settings.baseUrl)
    const urls = definition.endpoints(endpoint, settings)
    const oauth1Urls = { ...urls, request: urls.request ?? urls.token }
    let loading: Promise<LoadedProtocol> | undefined
    const loaded = () =>
      (loading ??= loadProtocol(name, async () =>
        definition.protocol === 'oauth1'
          ? (await import('./strategies/oauth1.js')).oauth1(settings, oauth1Urls, outbound)
          : (await import('./strategies/oauth2.js')).oauth2(definition, settings, urls, outbound),
      ))
    return {
      name,
      definition,
      settings,
      async authenticate(req, options) {
        const { passport } = await loaded()
        return passport.authenticate(name, req, options)
      },
      profile: (tokens, callback) =>
        definition.profile({
          settings,
          tokens,
          endpoint,
          account: async () => (await loaded()).protocol.account?.(tokens),
          get: async (url, headers) => profileJson(await (await loaded()).protocol.get(tokens, url, headers)),
          idToken: () => this.#idToken(definition, settings, tokens),
          callback,
        }),
    }
  }

  async #idToken(
    definition: ProviderDefinition,
    settings: ProviderSettings,
    tokens: ProviderTokens,
  ): Promise<JwtClaims | undefined> {
    const token = textAt(tokens.response, 'id_token')
    if (token === undefined) return undefined
    const issuer = claimedIssuer(token)
    if (issuer === undefined || !definition.openId?.isIssuer(issuer, settings))
      throw new ProviderError('the id token has another issuer')
    const { accessToken } = tokens
    return this.deps.idTokens.verify({
      token,
      issuer,
      audiences: settings.clientIds,
      keysUrl: definition.openId.keysUrl?.(endpointBelow(settings.baseUrl)),
      discoveredAt: definition.openId.discoveredAt?.(settings),
      accessToken,
    })
  }
}

type LoadedProtocol = { protocol: Protocol; passport: ProviderPassport }

/** Passport and its strategies are loaded when someone signs in with a provider for the first time. */
async function loadProtocol(name: Provider, load: () => Promise<Protocol>): Promise<LoadedProtocol> {
  const { ProviderPassport } = await import('./strategies/provider-passport.js')
  const protocol = await load()
  const passport = new ProviderPassport()
  passport.use(name, protocol.strategy)
  return { protocol, passport }
}

/** Moves URLs of the provider below the base URL, if one is set. */
export const endpointBelow =
  (baseUrl: string | undefined): Endpoint =>
  (url) => {
    if (baseUrl === undefined) return url
    const { pathname, search } = new URL(url)
    return `${baseUrl}${pathname}${search}`
  }

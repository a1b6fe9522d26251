import { OAuth2, type dataCallback, type oauth2tokenCallback } from 'oauth'
import OAuth2Strategy from 'passport-oauth2'
import type { Outbound } from '../../outbound/outbound.js'
import { textAt } from '../model/foreign-json.js'
import type { ProviderDefinition, ProviderSettings } from '../model/provider.js'
import type { StrategyClass } from '../model/strategy-class.js'
import { jsonObject, profileText } from './profile-call.js'
import { exchangeCode } from './token-exchange.js'
import { failureOf, type Protocol, type StrategyOptions, type StrategyRequest } from './strategy.js'

type Urls = { authorize: string; token: string; account?: string }
type Done<T> = (error: unknown, value?: T) => void

/** Keeps the state in the row of the flow instead of a session. */
const flowStates = {
  store({ flow }: StrategyRequest, _state: unknown, _meta: unknown, done: Done<string>): void {
    flow.save(null).then(
      () => done(null, flow.id),
      (error: unknown) => done(error),
    )
  },
  // The callback has already found the flow by its state.
  verify({ flow }: StrategyRequest, state: string, done: Done<boolean>): void {
    done(null, state === flow.id)
  },
}

type ClientOptions = {
  outbound: Outbound
  settings: ProviderSettings
  urls: Urls
  authentication: 'post' | 'basic'
}

/** Replaces the strategies' own HTTP client, which has no address guard, limits, Basic authentication or tracing. */
class OutboundOAuth2 extends OAuth2 {
  constructor(private readonly options: ClientOptions) {
    const { settings, urls } = options
    super(settings.clientIds[0] ?? '', settings.secret, '', urls.authorize, urls.token)
  }

  override getOAuthAccessToken(code: string, given: unknown, done?: oauth2tokenCallback): void {
    const { outbound, settings, urls, authentication } = this.options
    const parameters = { ...(given as Record<string, string>), code }
    exchangeCode(outbound, { url: urls.token, settings, authentication, parameters }).then(
      (answer) =>
        void done?.(null as never, textAt(answer, 'access_token'), textAt(answer, 'refresh_token'), answer),
      (error: Error) => void done?.(error),
    )
  }

  override get(url: string, accessToken: string, done: dataCallback): void {
    profileText(this.options.outbound, url, accessToken)
      .then((text) => void done(null as never, (jsonObject(text), text)))
      // Strategies read the text without error handling. An error of theirs that nobody caught would end the process.
      .catch((error: unknown) => void done(error as never))
  }
}

function strategyClass(Base: StrategyClass) {
  return class extends Base {
    constructor(client: OAuth2, ...given: ConstructorParameters<StrategyClass>) {
      super(...given)
      this._oauth2 = client
    }

    override authorizationParams(options: StrategyOptions): object {
      return { ...super.authorizationParams(options), ...options.parameters }
    }
  }
}

/** Passport's strategy for a provider. */
export async function oauth2(
  definition: ProviderDefinition,
  settings: ProviderSettings,
  urls: Urls,
  outbound: Outbound,
): Promise<Protocol> {
  const authentication = definition.clientAuthentication ?? 'post'
  const options = {
    authorizationURL: urls.authorize,
    tokenURL: urls.token,
    userProfileURL: urls.account,
    clientID: settings.clientIds[0] ?? '',
    clientSecret: settings.secret,
    callbackURL: settings.redirectUri,
    scopeSeparator: ' ',
    store: flowStates as unknown as OAuth2Strategy.StateStore,
    // The profile is fetched later, and only if no id token contains it.
    skipUserProfile: true,
  }
  const Class = strategyClass((await definition.strategy?.()) ?? OAuth2Strategy)
  const strategy = new Class(
    new OutboundOAuth2({ outbound, settings, urls, authentication }),
    options,
    (accessToken, refreshToken, response, _profile, done) =>
      done(null, { accessToken, refreshToken, response }),
  )
  return {
    strategy,
    get: ({ accessToken }, url, headers) => profileText(outbound, url, accessToken, headers),
    account: ({ accessToken }) =>
      new Promise((resolve, reject) => {
        strategy.userProfile(accessToken, (error, profile: unknown) =>
          error ? reject(failureOf(error)) : resolve(profile),
        )
      }),
  }
}

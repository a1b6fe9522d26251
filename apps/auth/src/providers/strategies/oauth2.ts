import { Strategy as GitHubStrategy } from 'passport-github2'
import { Strategy as GoogleStrategy } from 'passport-google-oauth20'
import OAuth2Strategy from 'passport-oauth2'
import { type Outbound } from '../../outbound/outbound.js'
import { type JsonObject } from '../../users/user.js'
import { type Provider } from '../definitions/index.js'
import { textAt } from '../foreign-json.js'
import { type ProviderDefinition, type ProviderSettings } from '../provider.js'
import { exchangeCode } from './token-exchange.js'
import { type Strategy, type StrategyOptions, type StrategyRequest } from './strategy.js'

type Urls = { authorize: string; token: string }
type Done<T> = (error: unknown, value?: T) => void
type TokensDone = (error: unknown, accessToken?: string, refreshToken?: string, response?: JsonObject) => void

/** The parts of Passport's OAuth 2 strategies that subclasses may replace. */
type Replaceable = {
  _oauth2: {
    getOAuthAccessToken: (code: string, parameters: Record<string, string>, done: TokensDone) => void
  }
  authorizationParams: (options: StrategyOptions) => object
}

/** State lives in the row of the flow, not in a session. */
const flowStates = {
  store({ flow }: StrategyRequest, _state: unknown, _meta: unknown, done: Done<string>): void {
    flow.save(null).then(
      () => done(null, flow.id),
      (error: unknown) => done(error),
    )
  },
  // Who calls back has looked the flow up by its state already.
  verify({ flow }: StrategyRequest, state: string, done: Done<boolean>): void {
    done(null, state === flow.id)
  },
}

type StrategyClass = new (
  options: Readonly<Record<string, unknown>>,
  verify: (
    accessToken: string,
    refreshToken: string | undefined,
    response: JsonObject,
    profile: unknown,
    done: Done<unknown>,
  ) => void,
) => Strategy & Replaceable

const CLASSES = { github: GitHubStrategy, google: GoogleStrategy } as unknown as Partial<
  Record<Provider, StrategyClass>
>

/** Passport's strategy for a provider: it builds the authorize URL and redeems the code; the profile is read elsewhere. */
export function oauth2Strategy(
  name: Provider,
  definition: ProviderDefinition,
  settings: ProviderSettings,
  urls: Urls,
  outbound: Outbound,
): Strategy {
  const Class = CLASSES[name] ?? (OAuth2Strategy as unknown as StrategyClass)
  const strategy = new Class(
    {
      authorizationURL: urls.authorize,
      tokenURL: urls.token,
      clientID: settings.clientIds[0],
      clientSecret: settings.secret,
      callbackURL: settings.redirectUri,
      scopeSeparator: ' ',
      store: flowStates,
      skipUserProfile: true,
    },
    (accessToken, refreshToken, response, _profile, done) =>
      done(null, { accessToken, refreshToken, response }),
  )
  strategy.authorizationParams = ({ parameters = {} }) => ({ ...parameters })
  // The library's own client knows neither our address guard nor Basic authentication.
  strategy._oauth2.getOAuthAccessToken = (code, parameters, done) => {
    const authentication = definition.clientAuthentication ?? 'post'
    exchangeCode(outbound, {
      url: urls.token,
      settings,
      authentication,
      parameters: { ...parameters, code },
    }).then(
      (answer) => done(null, textAt(answer, 'access_token'), textAt(answer, 'refresh_token'), answer),
      (error: unknown) => done(error),
    )
  }
  return strategy
}

import OAuth1Strategy from 'passport-oauth1'
import { type Outbound } from '../../outbound/outbound.js'
import { ProviderError, type ProviderSettings } from '../provider.js'
import { type Strategy, type StrategyRequest } from './strategy.js'

type Urls = { request: string; authorize: string; token: string }
type Done<T> = (error: unknown, value?: T) => void
type Signed = (error: unknown, data?: string) => void

/** The signing half of the library, which does no I/O, and the one method that does and is replaced. */
type OAuth1Client = {
  _prepareParameters(
    token: string | null,
    secret: string | null,
    method: string,
    url: string,
    extra: Record<string, string> | null,
  ): unknown
  _buildAuthorizationHeaders(parameters: unknown): string
  _performSecureRequest: (
    token: string | null,
    secret: string | null,
    method: string,
    url: string,
    extra: Record<string, string> | null,
    body: unknown,
    contentType: unknown,
    done: Signed,
  ) => void
}

export type SignedGet = (url: string, token: string, secret: string) => Promise<string>

/** The secret of a request token, kept in the flow's row while the user is at the provider. */
const requestTokens = {
  set(
    { flow }: StrategyRequest,
    token: string | undefined,
    secret: string | undefined,
    _state: unknown,
    _meta: unknown,
    done: Done<undefined>,
  ): void {
    // The library takes any answer with status 200 for one with a token.
    if (!token || !secret) return done(new ProviderError('the answer has no request token'))
    flow.save(JSON.stringify({ token, secret })).then(
      () => done(null),
      (error: unknown) => done(error),
    )
  },
  get({ flow }: StrategyRequest, token: string, done: Done<string | false>): void {
    const kept = JSON.parse(flow.secret ?? '{}') as { token?: string; secret?: string }
    done(null, kept.token === token && kept.secret !== undefined ? kept.secret : false)
  },
  destroy(_req: StrategyRequest, _token: string, done: Done<undefined>): void {
    done(null)
  },
}

/** Passport's OAuth 1.0a strategy, and GET requests signed the same way for the profile. */
export function oauth1Strategy(
  settings: ProviderSettings,
  urls: Urls,
  outbound: Outbound,
): { strategy: Strategy; signedGet: SignedGet } {
  const strategy = new OAuth1Strategy(
    {
      requestTokenURL: urls.request,
      accessTokenURL: urls.token,
      userAuthorizationURL: urls.authorize,
      consumerKey: settings.clientIds[0] ?? '',
      consumerSecret: settings.secret,
      callbackURL: settings.redirectUri,
      requestTokenStore: requestTokens,
      skipUserProfile: true,
    },
    (accessToken, tokenSecret, _parameters, _profile, done) =>
      done(null, { accessToken, refreshToken: undefined, response: { token_secret: tokenSecret } }),
  )
  const client = (strategy as unknown as { _oauth: OAuth1Client })._oauth
  const send = async (
    method: 'GET' | 'POST',
    url: string,
    {
      token,
      secret,
      extra,
    }: { token: string | null; secret: string | null; extra: Record<string, string> | null },
  ): Promise<string> => {
    const authorization = client._buildAuthorizationHeaders(
      client._prepareParameters(token, secret, method, url, extra),
    )
    const { status, text } = await outbound.request({ method, url, headers: { authorization } })
    if (status < 200 || status > 299)
      throw Object.assign(new Error('signed request refused'), { statusCode: status })
    return text
  }
  // The library's own client does not know our address guard. Its calls carry OAuth parameters only, no body.
  client._performSecureRequest = (token, secret, method, url, extra, _body, _contentType, done) => {
    send(method === 'GET' ? 'GET' : 'POST', url, { token, secret, extra })
      .then((data) => (url === urls.request ? confirmed(data) : data))
      .then(
        (data) => done(null, data),
        (error: unknown) => done(error),
      )
  }
  return {
    strategy: strategy as unknown as Strategy,
    signedGet: (url, token, secret) => send('GET', url, { token, secret, extra: null }),
  }
}

/** RFC 5849 section 2.1: a server that does not say this may send the user to another callback. */
function confirmed(answer: string): string {
  if (new URLSearchParams(answer).get('oauth_callback_confirmed') === 'true') return answer
  throw new ProviderError('the callback was not confirmed')
}

import { OAuth, type dataCallback, type oauth1tokenCallback } from 'oauth'
import OAuth1Strategy from 'passport-oauth1'
import type { Outbound } from '../../outbound/outbound.js'
import { ProviderError, type ProviderSettings } from '../model/provider.js'
import { failureOf, type Protocol, type Strategy, type StrategyRequest } from './strategy.js'

type Urls = { request: string; authorize: string; token: string }
type Done<T> = (error: unknown, value?: T) => void

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
    // The library accepts any 200 response as a token response.
    if (!token || !secret) return done(new ProviderError('the response has no request token'))
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

/** Signs requests like the library, but sends them through our own client with its address guard and limits. */
class OutboundOAuth1 extends OAuth {
  constructor(
    settings: ProviderSettings,
    urls: Urls,
    private readonly outbound: Outbound,
  ) {
    super(urls.request, urls.token, settings.clientIds[0] ?? '', settings.secret, '1.0', null, 'HMAC-SHA1')
  }

  /** A server that does not confirm the callback may send the user to another one (RFC 5849 section 2.1). */
  override getOAuthRequestToken(parameters: unknown, done?: oauth1tokenCallback): void {
    super.getOAuthRequestToken(
      parameters,
      (error, token, secret, answer: Record<string, unknown> | undefined) => {
        const isConfirmed = answer?.['oauth_callback_confirmed'] === 'true'
        const refusal = isConfirmed ? null : new ProviderError('the callback was not confirmed')
        done?.(error ?? (refusal as never), token, secret, answer)
      },
    )
  }

  // Our calls only have OAuth parameters, which all go into the header.
  protected override _performSecureRequest(
    token: string,
    secret: string,
    method: 'GET' | 'POST',
    url: string,
    extra: unknown,
    _body: unknown,
    _contentType: unknown,
    done?: dataCallback,
  ): never {
    const signed = this._prepareParameters(token, secret, method, url, extra)
    const headers = { authorization: this._buildAuthorizationHeaders(signed) }
    this.outbound
      .request({ method, url, headers })
      .then(({ status, text }) => {
        if (status >= 200 && status <= 299) return text
        throw Object.assign(new Error('signed request refused'), { statusCode: status })
      })
      .then(
        (text) => void done?.(null as never, text),
        (error: unknown) => void done?.(error as never),
      )
    // Nothing reads the request that the library's method returns.
    return undefined as never
  }
}

class OutboundOAuth1Strategy extends OAuth1Strategy {
  constructor(client: OAuth, ...given: ConstructorParameters<typeof OAuth1Strategy>) {
    super(...given)
    this._oauth = client
  }
}

/** Passport's OAuth 1.0a strategy, and GET requests signed the same way for the profile. */
export function oauth1(settings: ProviderSettings, urls: Urls, outbound: Outbound): Protocol {
  const client = new OutboundOAuth1(settings, urls, outbound)
  const strategy = new OutboundOAuth1Strategy(
    client,
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
  return {
    strategy: strategy as unknown as Strategy,
    get: ({ accessToken, response }, url) =>
      new Promise((resolve, reject) => {
        client.get(url, accessToken, String(response['token_secret']), (error: unknown, data) =>
          error ? reject(failureOf(error)) : resolve(String(data)),
        )
      }),
  }
}

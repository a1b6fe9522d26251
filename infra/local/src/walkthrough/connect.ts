import * as client from 'openid-client'
import { serve } from '../web-server.js'
import { Browser } from './browser.js'
import { check, fetchIn, tell, type World } from './http.js'
import type { Person } from './sign-up.js'

/** Registers an application, authorizes it with PKCE through the real pages, and exchanges the code for an access token. */
export async function connectApplication(world: World, person: Person): Promise<string> {
  // Like any native app, it listens on a loopback port for the browser to return (RFC 8252).
  const application = await serve((router) => {
    router.get('/callback', (_, response) => void response.type('text').send('You can close this window.'))
  })
  try {
    const redirectUri = `${application.url}/callback`
    const registered = await register(world, redirectUri)
    const verifier = client.randomPKCECodeVerifier()
    const state = client.randomState()
    const authorization = client.buildAuthorizationUrl(registered, {
      redirect_uri: redirectUri,
      scope: 'mcp:connect',
      state,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const callback = await authorize(world, person, authorization)
    check(callback.href.startsWith(redirectUri), 'the browser ends at the application')
    check(callback.searchParams.has('iss'), 'the answer names its issuer (RFC 9207)')
    // Also checks the state, and the issuer if there is one.
    const tokens = await client.authorizationCodeGrant(registered, callback, {
      pkceCodeVerifier: verifier,
      expectedState: state,
    })
    const minutes = (tokens.expires_in ?? 0) / 60
    tell(
      `The application now holds an access token for ${tokens['email'] as string}, good for ${minutes} minutes.`,
    )
    return tokens.access_token
  } finally {
    await application.close()
  }
}

const register = (world: World, redirectUri: string): Promise<client.Configuration> =>
  client.dynamicClientRegistration(
    new URL(world.webhooks),
    {
      client_name: 'Meeting notes for the team',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
    },
    client.None(),
    {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests], // the services of this machine use plain HTTP
      [client.customFetch]: fetchIn(world),
    },
  )

/** Signs in and approves. Returns the URL at which the browser ends. */
async function authorize(world: World, person: Person, authorization: URL): Promise<URL> {
  const browser = new Browser(fetchIn(world))
  const signInPage = await browser.open(authorization)
  check(signInPage.url.origin === world.auth, 'the browser is sent to the sign-in page')
  tell(`The sign-in page is filled in as ${person.email}.`)
  const { email: identifier, password } = person
  const consentPage = await browser.submit(signInPage, { identifier, password })
  check(consentPage.status === 200, `the consent page is shown, not status ${consentPage.status}`)
  tell('The consent page is approved.')
  return (await browser.submit(consentPage, { decision: 'approve' })).url
}

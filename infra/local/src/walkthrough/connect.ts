import { createHash, randomBytes } from 'node:crypto'
import { serve } from '../web-server.js'
import { Browser } from './browser.js'
import { check, expectJson, expectStatus, send, tell } from './http.js'
import type { Connection, Person, World } from './world.js'

const SCOPE = 'mcp:connect'

/** b. Register an application, authorize it with PKCE through the real pages, and exchange the code. */
export async function connectApplication(world: World, person: Person): Promise<Connection> {
  const callback = await startCallback()
  try {
    const clientId = await register(world, callback.redirectUri)
    const verifier = randomBytes(32).toString('base64url')
    const state = randomBytes(16).toString('base64url')
    await authorize(world, person, { clientId, verifier, state, redirectUri: callback.redirectUri })
    const received = callback.received()
    check(received.get('state') === state, 'the state came back unchanged')
    check(received.get('iss') === world.webhooksUrl, 'the answer names its issuer (RFC 9207)')
    const tokens = await exchangeCode(world, {
      code: received.get('code') ?? '',
      redirect_uri: callback.redirectUri,
      client_id: clientId,
      code_verifier: verifier,
    })
    tell(
      `The application now holds an access token for ${tokens.email}, good for ${tokens.expires_in / 60} minutes.`,
    )
    return { clientId, accessToken: tokens.access_token }
  } finally {
    await callback.close()
  }
}

async function register(world: World, redirectUri: string): Promise<string> {
  const discovered = await send('GET', `${world.webhooksUrl}/.well-known/oauth-authorization-server`, {
    at: 'webhooks',
  })
  const metadata = expectJson<{ registration_endpoint: string }>(discovered, 200)
  const registered = await send('POST', metadata.registration_endpoint, {
    at: 'webhooks',
    json: {
      client_name: 'Meeting notes for the team',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
    },
  })
  return expectJson<{ client_id: string }>(registered, 201).client_id
}

async function authorize(
  world: World,
  person: Person,
  request: { clientId: string; verifier: string; state: string; redirectUri: string },
): Promise<void> {
  const url = new URL(`${world.webhooksUrl}/oauth/authorize`)
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    scope: SCOPE,
    state: request.state,
    code_challenge: createHash('sha256').update(request.verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString()
  const browser = new Browser('webhooks')
  const signInPage = await browser.open(url)
  expectStatus(signInPage.exchange, 200)
  check(signInPage.url.href.startsWith(world.authUrl), 'the browser is sent to the sign-in page')
  tell(`The sign-in page is filled in as ${person.email}.`)
  const consentPage = await browser.submit(signInPage, {
    identifier: person.email,
    password: person.password,
  })
  expectStatus(consentPage.exchange, 200)
  tell('The consent page is approved.')
  const done = await browser.submit(consentPage, {}, { name: 'decision', value: 'approve' })
  check(done.url.href.startsWith(request.redirectUri), 'the browser ends at the application')
}

interface TokenAnswer {
  access_token: string
  expires_in: number
  email: string
}

async function exchangeCode(world: World, fields: Record<string, string>): Promise<TokenAnswer> {
  const answer = await send('POST', `${world.webhooksUrl}/oauth/token`, {
    at: 'webhooks',
    form: { grant_type: 'authorization_code', ...fields },
  })
  return expectJson<TokenAnswer>(answer, 200)
}

/** Like any native app, listens on a loopback port for the browser to come back (RFC 8252). */
async function startCallback() {
  let query: URLSearchParams | undefined
  const server = await serve((router) => {
    router.get('/callback', (request, response) => {
      query = new URL(request.url, 'http://localhost').searchParams
      response.type('text').send('You can close this window.')
    })
  })
  return {
    redirectUri: `${server.url}/callback`,
    received(): URLSearchParams {
      check(query !== undefined, 'the application was called back')
      return query
    },
    close: () => server.close(),
  }
}

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider, { type Adapter, type AdapterPayload, type Configuration } from 'oidc-provider'
import type { Json } from './api.js'
import { CALLBACK, CLIENT_ID, CLIENT_SECRET } from './fake-provider.js'

/** How a vendor's OpenID Connect server differs from others. Endpoints are paths at its origin. */
export type OidcLayout = {
  issuer: string
  authorize: string
  token: string
  userinfo?: string
  /** Where clients that read no discovery document find the keys. */
  keys?: string
  /** The vendor assumes the scope `openid` when a client asks only for email or profile. */
  impliesOpenId?: boolean
  /** Claims in addition to the standard ones. */
  claims?: string[]
  secret?: string
}

/** An OpenID Connect server with a single person, who is the one that signs in. */
export type OidcServer = {
  readonly origin: string
  readonly issuer: string
  /** Sets the person and the claims about them. */
  person(sub: string, claims: Json): void
  /** Makes the person refuse to sign in, or agree again. */
  refuse(isRefused: boolean): void
  /** Successful token requests: the posted form, and the header that authenticated the client. */
  readonly redeemed: { form: Json; authorization: string | undefined }[]
  /** How often each path was requested. */
  readonly asked: Map<string, number>
  close(): void
}

const HOUR = 3600

/** An app of the same developer, which has a different client id. */
export const APP = {
  id: 'the-mobile-app',
  secret: 'of-the-mobile-app',
  callback: 'https://app.example.com/native',
}

export async function startOidcServer(layout: OidcLayout): Promise<OidcServer> {
  let account: { sub: string; claims: Json } = { sub: 'nobody', claims: {} }
  let isRefused = false
  const redeemed: OidcServer['redeemed'] = []
  const asked = new Map<string, number>()
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const issuer = `${origin}${layout.issuer}`
  const provider = new Provider(issuer, {
    ...(await configuration(layout)),
    adapter: inMemory(),
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...account.claims }) }),
  })
  provider.on('grant.success', ({ oidc, headers }) => {
    redeemed.push({ form: { ...oidc.body }, authorization: headers.authorization })
  })
  const handle = provider.callback()

  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const url = new URL(req.url ?? '', origin)
    asked.set(url.pathname, (asked.get(url.pathname) ?? 0) + 1)
    if (url.pathname.startsWith('/interaction/')) {
      const result = isRefused
        ? { error: 'access_denied', error_description: 'The person said no' }
        : { login: { accountId: account.sub } }
      void provider.interactionFinished(req, res, result)
      return
    }
    req.url = translate(url, layout)
    void handle(req, res)
  })
  return {
    origin,
    issuer,
    person: (sub, claims) => (account = { sub, claims }),
    refuse: (value) => (isRefused = value),
    redeemed,
    asked,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Maps the vendor's path to the one that the library serves. */
function translate(url: URL, layout: OidcLayout): string {
  const own: Record<string, string> = {
    [layout.authorize]: '/auth',
    [layout.token]: '/token',
    [`${layout.issuer}/.well-known/openid-configuration`]: '/.well-known/openid-configuration',
    ...(layout.userinfo ? { [layout.userinfo]: '/me' } : {}),
    ...(layout.keys ? { [layout.keys]: '/jwks' } : {}),
  }
  if (layout.impliesOpenId && url.pathname === layout.authorize)
    url.searchParams.set('scope', `openid ${url.searchParams.get('scope') ?? ''}`)
  return `${own[url.pathname] ?? url.pathname}${url.search}`
}

async function configuration(layout: OidcLayout): Promise<Configuration> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const client = {
    response_types: ['code' as const],
    grant_types: ['authorization_code'],
    token_endpoint_auth_method: 'client_secret_post' as const,
  }
  return {
    clients: [
      {
        ...client,
        client_id: CLIENT_ID,
        client_secret: layout.secret ?? CLIENT_SECRET,
        redirect_uris: [CALLBACK],
      },
      {
        ...client,
        response_types: ['code', 'id_token token'],
        grant_types: ['authorization_code', 'implicit'],
        client_id: APP.id,
        client_secret: APP.secret,
        redirect_uris: [APP.callback],
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'of-the-server' }] },
    claims: {
      openid: ['sub', ...(layout.claims ?? [])],
      email: ['email', 'email_verified'],
      profile: ['name', 'given_name', 'family_name', 'picture', 'locale', 'preferred_username'],
    },
    // Like the vendors, puts all claims into the id token even if an access token is issued with it.
    conformIdTokenClaims: false,
    responseTypes: ['code', 'id_token token'],
    pkce: { required: () => false },
    ttl: {
      AccessToken: HOUR,
      AuthorizationCode: 60,
      Grant: HOUR,
      IdToken: HOUR,
      Interaction: HOUR,
      Session: HOUR,
    },
    features: { devInteractions: { enabled: false } },
    cookies: { keys: ['for the cookies of one test'] },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    // Skips consent, which these tests are not about.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId,
        accountId: oidc.session?.accountId,
      })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  }
}

/** A separate store for each server, in memory. */
function inMemory(): (kind: string) => Adapter {
  const rows = new Map<string, AdapterPayload>()
  const byUid = (uid: string) => [...rows.values()].find((row) => row.uid === uid)
  return (kind) => ({
    upsert: (id, row) => Promise.resolve(void rows.set(`${kind}:${id}`, row)),
    find: (id) => Promise.resolve(rows.get(`${kind}:${id}`)),
    findByUid: (uid) => Promise.resolve(byUid(uid)),
    findByUserCode: () => Promise.resolve(undefined),
    consume: (id) => Promise.resolve(void Object.assign(rows.get(`${kind}:${id}`) ?? {}, { consumed: true })),
    destroy: (id) => Promise.resolve(void rows.delete(`${kind}:${id}`)),
    revokeByGrantId: () => Promise.resolve(),
  })
}

export type BackFrom = { method: 'GET' | 'POST'; parameters: Record<string, string> }

/** Follows redirects through a provider as a browser does, with cookies, until they lead back to `callback`. */
export async function browse(start: URL | string, callback = CALLBACK): Promise<BackFrom> {
  const cookies = new Map<string, string>()
  let url = String(start)
  for (let step = 0; step < 10; step += 1) {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const text = await response.text()
    const location = response.headers.get('location')
    if (location === null) return { method: 'POST', parameters: formOf(text, callback) }
    url = new URL(location, url).href
    if (url.startsWith(callback)) {
      const { search, hash } = new URL(url)
      return { method: 'GET', parameters: Object.fromEntries(new URLSearchParams(search || hash.slice(1))) }
    }
  }
  throw new Error('the provider redirects forever')
}

/** Fields of the page that posts itself back. */
function formOf(html: string, callback: string): Record<string, string> {
  if (!html.includes(`action="${callback}"`)) throw new Error(`a page that does not lead back: ${html}`)
  const fields = [...html.matchAll(/name="([^"]+)" value="([^"]*)"/g)]
  return Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]))
}

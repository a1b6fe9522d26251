import { waitUntil } from '../wait-until.js'
import { expectJson, expectStatus, send, tell } from './http.js'
import { signUp } from './sign-up.js'
import type { World } from './world.js'

/** g. Signing out everywhere at the identity server ends a personal token of the webhooks API. */
export async function signOutEverywhere(world: World, name: string): Promise<void> {
  const { email, password } = await signUp(world, name)
  const signedIn = await send('POST', `${world.authUrl}/token?grant_type=password`, {
    at: 'auth',
    json: { email, password },
  })
  const jwt = expectJson<{ access_token: string }>(signedIn, 200).access_token
  const made = await send('POST', `${world.webhooksUrl}/account/tokens`, {
    at: 'webhooks',
    bearer: jwt,
    json: { name: 'a script of mine' },
  })
  const { token } = expectJson<{ token: string }>(made, 201)
  expectStatus(await listWebhooks(world, token), 200)
  tell('A personal token, made with that sign-in and good for 90 days, works.')

  expectStatus(await send('POST', `${world.authUrl}/logout?scope=global`, { at: 'auth', bearer: jwt }), 204)
  const startedAt = performance.now()
  await waitUntil(async () => ((await listWebhooks(world, token, true)).status === 401 ? true : undefined), {
    describe: '401 for the personal token',
  })
  const tookMs = performance.now() - startedAt
  expectStatus(await listWebhooks(world, token), 401)
  tell(
    `The identity server told the webhooks API, and ${tookMs.toFixed(0)} ms later the token stopped working for good.`,
  )
}

const listWebhooks = (world: World, token: string, quiet = false) =>
  send('GET', `${world.webhooksUrl}/v1/webhooks`, { at: 'webhooks', bearer: token, quiet })

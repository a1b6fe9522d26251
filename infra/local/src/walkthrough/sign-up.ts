import type { Mail } from '../inbox/mail.js'
import { waitUntil } from '../wait-until.js'
import { call, check, send, tell, type World } from './http.js'

export type Person = Awaited<ReturnType<typeof signUp>>

/** Signs up with email and password, follows the link in the confirmation email, and signs in. */
export async function signUp(world: World, name: string) {
  const credentials = { email: `${name}@example.test`, password: `correct-horse-${name}` }
  const { email } = credentials
  const { id } = await call<{ id: string }>(world, 'POST', `${world.auth}/signup`, { json: credentials })
  await send(world, 'POST', passwordGrant(world), { json: credentials, status: 400 })
  tell('A password alone is not enough before the address is confirmed.')

  const mail = await waitUntil(() => newestMail(world, email), { describe: `confirmation email to ${email}` })
  tell(`The email "${mail.subject}" arrived in the inbox; its link is followed.`)
  const link = mail.links.find((url) => url.startsWith(`${world.auth}/verify`))
  check(link !== undefined, 'the email has a link to /verify')
  const { headers } = await send(world, 'GET', link, { status: 303 })
  const location = headers.get('location') ?? ''
  check(location.includes('#access_token='), `the redirect carries tokens, not ${location}`)
  await signIn(world, credentials)
  tell(`${email} is confirmed and signs in with the password.`)
  return { ...credentials, accountId: id }
}

async function signIn(world: World, { email, password }: Omit<Person, 'accountId'>): Promise<string> {
  const json = { email, password }
  return (await call<{ access_token: string }>(world, 'POST', passwordGrant(world), { json })).access_token
}

const passwordGrant = ({ auth }: World): string => `${auth}/token?grant_type=password`

async function newestMail(world: World, to: string): Promise<Mail | undefined> {
  const url = `${world.inbox}/api/messages?to=${encodeURIComponent(to)}`
  return (await call<{ items: Mail[] }>(world, 'GET', url)).items[0]
}

/** Checks that signing out everywhere at the identity server ends a personal token of the webhooks API. */
export async function signOutEverywhere(world: World, name: string): Promise<void> {
  const bearer = await signIn(world, await signUp(world, name))
  const json = { name: 'a script of mine' }
  const made = { bearer, json, status: 201 }
  const { token } = await call<{ token: string }>(world, 'POST', `${world.webhooks}/account/tokens`, made)
  const listWebhooks = (options: { status?: number; quiet?: boolean }) =>
    send(world, 'GET', `${world.webhooks}/v1/webhooks`, { bearer: token, ...options })
  await listWebhooks({ status: 200 })
  tell('A personal token, made with that sign-in and good for 90 days, works.')

  await send(world, 'POST', `${world.auth}/logout?scope=global`, { bearer, status: 204 })
  const startedAt = performance.now()
  await waitUntil(async () => (await listWebhooks({ quiet: true })).status === 401 || undefined, {
    describe: '401 for the personal token',
  })
  const tookMs = (performance.now() - startedAt).toFixed(0)
  await listWebhooks({ status: 401 })
  tell(
    `The identity server told the webhooks API, and ${tookMs} ms later the token stopped working permanently.`,
  )
}

import type { Mail } from '../inbox/index.js'
import { waitUntil } from '../wait-until.js'
import { check, expectJson, expectStatus, locationOf, send, tell } from './http.js'
import type { Person, World } from './world.js'

interface User {
  id: string
  email: string
  email_confirmed_at?: string
}

/** a. Sign up with email and password, follow the link in the confirmation email, and get tokens. */
export async function signUp(world: World, name: string): Promise<Person> {
  const email = `${name}@example.test`
  const password = `correct-horse-${name}`
  const signedUp = await send('POST', `${world.authUrl}/signup`, { at: 'auth', json: { email, password } })
  const { id } = expectJson<User>(signedUp, 200)

  const refused = await requestTokens(world, email, password)
  expectStatus(refused, 400)
  tell('A password alone is not enough before the address is confirmed.')

  const mail = await waitUntil(() => newestMail(world, email), {
    describe: `confirmation mail to ${email}`,
  })
  tell(`The mail "${mail.subject}" arrived in the inbox; its link is followed.`)
  const link = mail.links.find((url) => url.startsWith(`${world.authUrl}/verify`))
  check(link !== undefined, 'the mail holds a link to /verify')
  const verified = await send('GET', link, { at: 'auth' })
  expectStatus(verified, 303)
  const tokens = new URLSearchParams(locationOf(verified, link).hash.slice(1))
  check(
    tokens.has('access_token'),
    `the redirect carries tokens, not ${tokens.get('error_description') ?? 'nothing'}`,
  )

  const answer = await send('GET', `${world.authUrl}/user`, {
    at: 'auth',
    bearer: tokens.get('access_token') ?? '',
  })
  const user = expectJson<User>(answer, 200)
  check(user.id === id && user.email_confirmed_at !== undefined, 'the account is confirmed')
  expectJson(await requestTokens(world, email, password), 200)
  tell(`${email} is confirmed and signs in with the password.`)
  return { email, password, accountId: id }
}

const requestTokens = (world: World, email: string, password: string) =>
  send('POST', `${world.authUrl}/token?grant_type=password`, { at: 'auth', json: { email, password } })

async function newestMail(world: World, to: string): Promise<Mail | undefined> {
  const url = `${world.sandboxUrl}/api/messages?to=${encodeURIComponent(to)}`
  const answer = await send('GET', url, { at: 'inbox', quiet: true })
  return expectJson<{ items: Mail[] }>(answer, 200).items[0]
}

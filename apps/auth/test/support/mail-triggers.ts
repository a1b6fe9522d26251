import { expect } from '@jest/globals'
import { TOTP } from 'otpauth'
import { decodeJwt } from 'jose'
import { mailKinds, noticeKinds, type MailKind, type NoticeKind } from '../../src/mail/kinds.js'
import { anEmail, aPhone, call, get, PASSWORD, post, put, type Json, type SignedUp } from './api.js'
import { META } from './meta.js'
import { anId, link, type ProviderSite } from './provider-site.js'
import { serviceToken } from './tokens.js'

export type Kind = MailKind | NoticeKind
export const kinds: readonly Kind[] = [...mailKinds, ...noticeKinds]

export const [OLD_PHONE, NEW_PHONE, FREE_PHONE] = [aPhone(), aPhone(), aPhone()]
export const TARGET = 'https://other.example.com/in'
const redirect = `?redirect_to=${encodeURIComponent(TARGET)}`

/** Makes the service send each kind of email, and returns the address that it goes to. */
export const triggers: Record<Kind, (site: ProviderSite) => Promise<string>> = {
  async invite({ server }) {
    const email = anEmail()
    await post(server, `/invite${redirect}`, { email, data: { name: 'A<b>&"' } }, { token: serviceToken() })
    return email
  },
  async confirmation({ server }) {
    const email = anEmail()
    await post(server, `/signup${redirect}`, { email, password: PASSWORD, data: { name: 'A<b>&"' } })
    return email
  },
  async recovery(site) {
    const { email } = await aPerson(site)
    await post(site.server, `/recover${redirect}`, { email })
    return email
  },
  async magic_link(site) {
    const { email } = await aPerson(site)
    await post(site.server, `/magiclink${redirect}`, { email })
    return email
  },
  async email_change(site) {
    const email = anEmail()
    await put(site.server, `/user${redirect}`, { email }, await aPerson(site))
    return email
  },
  async reauthentication(site) {
    const user = await aPerson(site)
    await get(site.server, '/reauthenticate', user)
    return user.email
  },
  async account_exists_notification(site) {
    const { email } = await aPerson(site)
    site.server.clock.advance(900_000)
    await post(site.server, '/signup', { email, password: PASSWORD })
    return email
  },
  async password_changed_notification(site) {
    const user = await aPerson(site)
    await put(site.server, '/user', { password: 'another password' }, user)
    return user.email
  },
  async email_changed_notification(site) {
    const user = await aPerson(site)
    const email = anEmail()
    await put(site.server, '/user', { email }, user)
    for (const to of [user.email, email]) {
      const subject = /^(Own EMAIL_CHANGE|Confirm your new email address)/
      const token_hash = tokenHashOf(await site.server.inbox.waitForMail({ to, subject }))
      expect((await post(site.server, '/verify', { type: 'email_change', token_hash })).status).toBe(200)
    }
    return user.email
  },
  async phone_changed_notification(site) {
    const user = await aPerson(site)
    for (const phone of [OLD_PHONE, NEW_PHONE]) {
      await put(site.server, '/user', { phone }, user)
      await post(site.server, '/verify', { type: 'phone_change', phone, token: '123456' })
    }
    return user.email
  },
  async identity_linked_notification(site) {
    const user = await aPerson(site)
    site.figma(anId(), anEmail())
    await link(site.server, user.token, 'figma')
    return user.email
  },
  async identity_unlinked_notification(site) {
    const user = await aPerson(site)
    site.figma(anId(), anEmail())
    await link(site.server, user.token, 'figma')
    const { body } = await get(site.server, '/user', user)
    const id = (body['identities'] as Json[]).find(({ provider }) => provider === 'figma')?.['identity_id']
    expect((await call(site.server, 'DELETE', `/user/identities/${String(id)}`, user)).status).toBe(200)
    return user.email
  },
  async mfa_factor_enrolled_notification(site) {
    return (await aFactor(site)).email
  },
  async mfa_factor_unenrolled_notification(site) {
    const { email, token, id } = await aFactor(site)
    expect((await call(site.server, 'DELETE', `/factors/${id}`, { token })).status).toBe(200)
    return email
  },
  async mfa_recovery_codes_created_notification(site) {
    const { email, token } = await aFactor(site)
    expect((await post(site.server, '/recovery-codes', {}, { token })).status).toBe(200)
    return email
  },
  async mfa_recovery_code_used_notification(site) {
    const { email, token } = await aFactor(site)
    const { body } = await post(site.server, '/recovery-codes', {}, { token })
    const [code] = body['codes'] as string[]
    expect((await post(site.server, '/recovery-codes/verify', { code }, { token })).status).toBe(200)
    return email
  },
  async account_deletion_requested_notification(site) {
    return (await aDeletedPerson(site)).email
  },
  async account_deleted_notification(site) {
    const { email } = await aDeletedPerson(site)
    site.server.clock.advance(8 * 86_400_000)
    await site.server.context.cleanup.run()
    await site.server.settled()
    return email
  },
}

type Person = SignedUp & { token: string }

export async function aPerson({ server }: ProviderSite): Promise<Person> {
  const email = anEmail()
  await post(server, '/signup', { email, password: PASSWORD, data: { name: 'A<b>&"' } })
  const token_hash = tokenHashOf(await server.inbox.waitForMail({ to: email }))
  const { body } = await post(server, '/verify', { type: 'signup', token_hash })
  return { ...(body as SignedUp), email, password: PASSWORD, token: String(body['access_token']) }
}

/** Calls what the account page calls when people delete their account. */
async function aDeletedPerson(site: ProviderSite): Promise<Person> {
  const person = await aPerson(site)
  const { gate, deletions } = site.server.context
  const live = await gate.find(person.user.id, String(decodeJwt(person.token)['session_id']))
  if (live === null) throw new Error('no session')
  await deletions.request(live, { password: PASSWORD, nonce: '' }, META)
  await site.server.settled()
  return person
}

async function aFactor(site: ProviderSite) {
  const { email, token } = await aPerson(site)
  const { body: factor } = await post(site.server, '/factors', { factor_type: 'totp' }, { token })
  const id = String(factor['id'])
  const { body: challenge } = await post(site.server, `/factors/${id}/challenge`, {}, { token })
  const timestamp = site.server.clock.now().getTime()
  const code = new TOTP({ secret: (factor['totp'] as { secret: string }).secret }).generate({ timestamp })
  const proof = { challenge_id: challenge['id'], code }
  const { body } = await post(site.server, `/factors/${id}/verify`, proof, { token })
  return { email, token: String(body['access_token']), id }
}

/** The secret of an email. The tests' own templates have it in a field, the built-in ones in the link. */
const tokenHashOf = ({ html, links }: { html: string; links: string[] }): string | null =>
  fieldsOf(html, 'TokenHash')[0] ??
  new URL(links.find((url) => url.includes('token=')) ?? '').searchParams.get('token')

/** Values of a variable in a body that the tests' own templates made, with HTML escapes. */
export function fieldsOf(html: string, name: string): string[] {
  const value = new RegExp(`\\[${name.replace('.', '\\.')}=([^\\]]*)\\]`).exec(html)?.[1]
  return value === undefined || value === '' ? [] : [value]
}

export const noticeSwitches = Object.fromEntries(
  noticeKinds.map((kind) => [
    `AUTH_MAILER_NOTIFICATIONS_${kind.replace('_notification', '').toUpperCase()}_ENABLED`,
    'true',
  ]),
)
export const common = {
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_SMS_TEST_OTP: [OLD_PHONE, NEW_PHONE, FREE_PHONE].map((phone) => `${phone}:123456`).join(','),
  AUTH_SMS_MAX_FREQUENCY: '0',
}

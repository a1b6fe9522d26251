import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { TOTP } from 'otpauth'
import { decodeJwt } from 'jose'
import { mailKinds, noticeKinds, type MailKind, type NoticeKind } from '../src/mail/kinds.js'
import { anEmail, aPhone, call, get, PASSWORD, post, put, type Json, type SignedUp } from './support/api.js'
import { type FakeProvider, startFakeProvider } from './support/fake-provider.js'
import { META } from './support/meta.js'
import { anId, link, startProviderSite, type ProviderSite } from './support/provider-site.js'
import { codesIn, tableBelow } from './support/specification.js'
import { serviceToken } from './support/tokens.js'

type Kind = MailKind | NoticeKind
const kinds: readonly Kind[] = [...mailKinds, ...noticeKinds]

const VARIABLES = [
  ...['SiteURL', 'Email', 'NewEmail', 'OldEmail', 'SendingTo', 'Phone', 'OldPhone', 'Provider'],
  ...[
    'ProviderName',
    'FactorType',
    'FactorName',
    'RecoveryCodesLeft',
    'DeletionDate',
    'Token',
    'TokenHash',
    'RedirectTo',
    'Data.name',
    'ConfirmationURL',
    'RecoveryURL',
  ],
]
const [OLD_PHONE, NEW_PHONE, FREE_PHONE] = [aPhone(), aPhone(), aPhone()]
const TARGET = 'https://other.example.com/in'
const redirect = `?redirect_to=${encodeURIComponent(TARGET)}`

/** What makes the service send each email, all through its API; answers the address it goes to. */
const triggers: Record<Kind, (site: ProviderSite) => Promise<string>> = {
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

async function aPerson({ server }: ProviderSite): Promise<Person> {
  const email = anEmail()
  await post(server, '/signup', { email, password: PASSWORD, data: { name: 'A<b>&"' } })
  const token_hash = tokenHashOf(await server.inbox.waitForMail({ to: email }))
  const { body } = await post(server, '/verify', { type: 'signup', token_hash })
  return { ...(body as SignedUp), email, password: PASSWORD, token: String(body['access_token']) }
}

/** People delete their accounts on a page, which calls this. */
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

/** The secret of a mail: in a field of the templates of this test, in the link of the built-in ones. */
const tokenHashOf = ({ html, links }: { html: string; links: string[] }): string | null =>
  fieldsOf(html, 'TokenHash')[0] ??
  new URL(links.find((url) => url.includes('token=')) ?? '').searchParams.get('token')

/** Values of a variable in a body made by the templates of this test; as HTML has them. */
function fieldsOf(html: string, name: string): string[] {
  const value = new RegExp(`\\[${name.replace('.', '\\.')}=([^\\]]*)\\]`).exec(html)?.[1]
  return value === undefined || value === '' ? [] : [value]
}

const noticeSwitches = Object.fromEntries(
  noticeKinds.map((kind) => [
    `AUTH_MAILER_NOTIFICATIONS_${kind.replace('_notification', '').toUpperCase()}_ENABLED`,
    'true',
  ]),
)
/** Those that are on unless they are switched off. */
const QUIET = {
  AUTH_MAILER_NOTIFICATIONS_ACCOUNT_EXISTS_ENABLED: 'false',
  AUTH_MAILER_NOTIFICATIONS_ACCOUNT_DELETION_REQUESTED_ENABLED: 'false',
  AUTH_MAILER_NOTIFICATIONS_ACCOUNT_DELETED_ENABLED: 'false',
}
const common = {
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_SMS_TEST_OTP: [OLD_PHONE, NEW_PHONE, FREE_PHONE].map((phone) => `${phone}:123456`).join(','),
  AUTH_SMS_MAX_FREQUENCY: '0',
}

describe('the emails, from the request to the mailbox (docs/specification.md#emails)', () => {
  let templates: FakeProvider
  let site: ProviderSite
  beforeAll(async () => {
    templates = await startFakeProvider()
    for (const kind of kinds)
      templates.answer(`GET /mails/${kind}.html`, {
        body: `<p>${kind} ${VARIABLES.map((name) => `[${name}={{ .${name} }}]`).join(' ')}</p>`,
      })
    const perKind = kinds.flatMap((kind) => [
      [`AUTH_MAILER_TEMPLATES_${kind.toUpperCase()}`, `${templates.url}/mails/${kind}.html`],
      [`AUTH_MAILER_SUBJECTS_${kind.toUpperCase()}`, `Own ${kind.toUpperCase()} {{ .Email }}`],
    ])
    site = await startProviderSite({
      ...common,
      ...noticeSwitches,
      ...(Object.fromEntries(perKind) as Record<string, string>),
      AUTH_MAILER_URLPATHS_INVITE: '/welcome',
      AUTH_MAILER_URLPATHS_CONFIRMATION: 'https://mails.example.com/confirm?from=mail',
      AUTH_MAILER_URLPATHS_RECOVERY: '/auth/v1/recover-here',
      AUTH_MAILER_URLPATHS_EMAIL_CHANGE: '/changed',
    })
  })
  afterAll(async () => {
    await site.close()
    await templates.close()
  })

  const LINKS: Partial<Record<Kind, [start: string, type: string]>> = {
    invite: ['https://auth.example.com/auth/v1/welcome?token=', 'invite'],
    confirmation: ['https://mails.example.com/confirm?token=', 'signup'],
    recovery: ['https://auth.example.com/auth/v1/recover-here?token=', 'recovery'],
    magic_link: ['https://auth.example.com/auth/v1/recover-here?token=', 'magiclink'],
    email_change: ['https://auth.example.com/auth/v1/changed?token=', 'email_change'],
  }
  const LEADS_TO_A_PAGE: readonly Kind[] = [
    'account_exists_notification',
    'account_deletion_requested_notification',
  ]
  /** In addition to SiteURL, Email and Data. */
  const FURTHER: Record<Kind, Record<string, RegExp | string>> = {
    invite: { Token: /^\d{6}$/, TokenHash: /^[0-9a-f]{56}$/, RedirectTo: TARGET, SendingTo: /@/ },
    confirmation: { Token: /^\d{6}$/, TokenHash: /^[0-9a-f]{56}$/, RedirectTo: TARGET, SendingTo: /@/ },
    recovery: { Token: /^\d{6}$/, TokenHash: /^[0-9a-f]{56}$/, RedirectTo: TARGET, SendingTo: /@/ },
    magic_link: { Token: /^\d{6}$/, TokenHash: /^[0-9a-f]{56}$/, RedirectTo: TARGET, SendingTo: /@/ },
    email_change: {
      Token: /^\d{6}$/,
      TokenHash: /^[0-9a-f]{56}$/,
      RedirectTo: TARGET,
      SendingTo: /@/,
      NewEmail: /@/,
    },
    reauthentication: { Token: /^\d{6}$/ },
    account_exists_notification: { RecoveryURL: /^https:\/\// },
    password_changed_notification: {},
    email_changed_notification: { OldEmail: /@/ },
    phone_changed_notification: { Phone: NEW_PHONE, OldPhone: OLD_PHONE },
    // Linking has copied what the provider says into the data.
    identity_linked_notification: { Provider: 'figma', ProviderName: 'Figma', 'Data.name': 'Fig' },
    identity_unlinked_notification: { Provider: 'figma', ProviderName: 'Figma', 'Data.name': 'Fig' },
    mfa_factor_enrolled_notification: { FactorType: 'totp', FactorName: 'authenticator app' },
    mfa_factor_unenrolled_notification: { FactorType: 'totp', FactorName: 'authenticator app' },
    mfa_recovery_codes_created_notification: { RecoveryCodesLeft: '10' },
    mfa_recovery_code_used_notification: { RecoveryCodesLeft: '9' },
    account_deletion_requested_notification: {
      DeletionDate: /^\d{1,2} [A-Z][a-z]+ \d{4} at \d\d:\d\d UTC$/,
    },
    account_deleted_notification: {},
  }

  it.each(kinds)('%s: own template, own subject, its variables and no others', async (kind) => {
    const to = await triggers[kind](site)
    const subject = new RegExp(`^Own ${kind.toUpperCase()} \\S+@example\\.com$`)
    const mail = await site.server.inbox.waitForMail({ to, subject })
    expect(mail.html).toContain(`<p>${kind} `)
    const [start, type] = LINKS[kind] ?? []
    const expected = {
      SiteURL: /^https:\/\/app\.example\.com$/,
      Email: /@/,
      'Data.name': 'A&lt;b&gt;&amp;&quot;',
      ...FURTHER[kind],
    }
    for (const name of VARIABLES.filter((variable) => variable !== 'ConfirmationURL')) {
      const wanted = (expected as Record<string, RegExp | string | undefined>)[name]
      const [value = ''] = fieldsOf(mail.html, name)
      if (wanted instanceof RegExp) expect([name, value]).toEqual([name, expect.stringMatching(wanted)])
      else expect([name, value]).toEqual([name, wanted ?? ''])
    }
    const [url = ''] = fieldsOf(mail.html, 'ConfirmationURL')
    if (LEADS_TO_A_PAGE.includes(kind)) return expect(url).toMatch(/^https:\/\//)
    if (start === undefined) return expect(url).toBe('')
    expect(url.startsWith(start)).toBe(true)
    expect(url).toContain(`&amp;type=${type}&amp;redirect_to=${encodeURIComponent(TARGET)}`)
  })

  it.each(kinds)('%s: the variables that the specification names', (kind) => {
    const row = tableBelow('Template variables').find(([named]) => codesIn(named).includes(kind))
    const links = kind in LINKS || LEADS_TO_A_PAGE.includes(kind) ? ['ConfirmationURL'] : []
    const further = Object.keys(FURTHER[kind]).filter((name) => name !== 'Data.name')
    expect(codesIn(row?.[1]).sort()).toEqual([...links, ...further].sort())
  })

  it('fetches each template once, no matter how many emails use it', () => {
    const counts = kinds.map(
      (kind) => templates.seen.filter(({ path }) => path === `/mails/${kind}.html`).length,
    )
    expect(counts).toEqual(kinds.map(() => 1))
  })
})

describe('notices (docs/specification.md#emails)', () => {
  let site: ProviderSite
  beforeAll(async () => {
    site = await startProviderSite({ ...common, ...QUIET })
  })
  afterAll(() => site.close())

  it.each(noticeKinds)('%s is not sent while its setting is off', async (kind) => {
    const to = await triggers[kind](site)
    // The requests of the tests wait for the messages they cause, so all there will be is here.
    for (const { subject } of site.server.inbox.messages({ to }))
      expect(['Confirm your email address', 'Confirm your new email address']).toContain(subject)
  })

  it('a phone that changes at once is reported too', async () => {
    const auto = await startProviderSite({ ...common, ...noticeSwitches, AUTH_SMS_AUTOCONFIRM: 'true' })
    try {
      const user = await aPerson(auto)
      await put(auto.server, '/user', { phone: OLD_PHONE }, user)
      expect(auto.server.inbox.messages({ to: user.email })).toHaveLength(1)
      await put(auto.server, '/user', { phone: FREE_PHONE }, user)
      await auto.server.inbox.waitForMail({ to: user.email, subject: 'Your phone number was changed' })
    } finally {
      await auto.close()
    }
  })

  it('a refused notice does not fail the request, and is given up visibly', async () => {
    const broken = await startProviderSite({ ...common, ...noticeSwitches })
    try {
      const user = await aPerson(broken)
      broken.server.inbox.fail({ at: 'message' })
      const answer = await put(broken.server, '/user', { password: 'another password' }, user)
      expect(answer.status).toBe(200)
      const entry = broken.server.lines.find(({ action }) => action === 'message_given_up')
      expect(entry?.['traits']).toMatchObject({
        kind: 'email',
        mail: 'password_changed_notification',
        reason: 'refused',
      })
    } finally {
      await broken.close()
    }
  })
})

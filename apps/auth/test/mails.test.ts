import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type FakeProvider, startFakeProvider } from './support/fake-provider.js'
import {
  common,
  fieldsOf,
  kinds,
  NEW_PHONE,
  noticeSwitches,
  OLD_PHONE,
  TARGET,
  triggers,
  type Kind,
} from './support/mail-triggers.js'
import { startProviderSite, type ProviderSite } from './support/provider-site.js'
import { codesIn, tableBelow } from './support/specification.js'

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
  /** The variables of each email, in addition to SiteURL, Email and Data. */
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

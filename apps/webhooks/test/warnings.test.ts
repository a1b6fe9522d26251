import { describe, expect, it } from '@jest/globals'
import { useWarnings, type Changes } from './support/warnings.js'

const rig = useWarnings()
const { aWarning, send, stateOf } = rig

describe('a warning', () => {
  it('tells the owner what fails, since when, why, and what to do', async () => {
    const user = rig.harness.identity.addUser()
    const { endpoint, id } = await aWarning(user.id, { threshold: 10, error: 'timeout' })
    await send()
    const [mail, ...others] = rig.inbox.messages()
    expect(others).toEqual([])
    expect(mail).toMatchObject({
      to: [user.email],
      sender: 'Signet <no-reply@signet.example>',
      subject: 'Your webhook is failing: 10 failures in a row',
    })
    expect(mail?.headers['message-id']).toBe(`<${id}@signet.example>`)
    expect(mail?.headers['auto-submitted']).toBe('auto-generated')
    for (const body of [mail?.text, mail?.html]) {
      expect(body).toContain(`https://example.com/hook (id ${endpoint.id})`)
      expect(body).toContain('1 January 2026 at 00:00 UTC')
      expect(body).toContain('2 January 2026 at 03:04 UTC: no response in time (timeout)')
      expect(body).toContain('respond with 200 first')
      expect(body).toContain('After 20 failures in a row it is disabled')
      expect(body).toContain('https://app.signet.example/webhooks')
      expect(body).not.toContain('s3cret')
      expect(body).not.toContain('{{')
    }
    expect(await stateOf(id)).toMatchObject({ outcome: 'sent', attempts: 1 })
  })

  it('gives way to a later one that is due as well', async () => {
    const user = rig.harness.identity.addUser()
    const { endpoint, id } = await aWarning(user.id, { failures: 20, status: 2 })
    await rig.harness.db.query(
      `insert into webhook_endpoint_warnings (endpoint_id, threshold, day, failures, last_error, failed_at)
       values ($1, 20, current_date, 20, 'http_500', '2026-01-02T03:04:06Z')`,
      [endpoint.id],
    )
    await send()
    expect(rig.inbox.messages({ to: user.email }).map(({ subject }) => subject)).toEqual([
      'Your webhook was disabled after 20 failures in a row',
    ])
    expect(await stateOf(id)).toMatchObject({ outcome: 'resolved' })
  })

  it('of an endpoint that was disabled says how to enable it and get what it missed', async () => {
    const user = rig.harness.identity.addUser()
    const { endpoint } = await aWarning(user.id, { threshold: 20, status: 2, error: 'http_404' })
    await send()
    const [mail] = rig.inbox.messages({ to: user.email })
    expect(mail?.subject).toBe('Your webhook was disabled after 20 failures in a row')
    expect(mail?.text).toContain('it responded with status 404 (http_404)')
    expect(mail?.text).toContain(`POST /v1/webhooks/${endpoint.id}/enable`)
    expect(mail?.text).toContain(`POST /v1/webhooks/${endpoint.id}/recover`)
  })

  it.each([
    [
      'of the page on which the endpoint was saved',
      'de',
      undefined,
      'Ihr Webhook schlägt fehl: 10 Fehler in Folge',
    ],
    [
      'that the account names, before that of the page',
      'de',
      'en-GB',
      'Your webhook is failing: 10 failures in a row',
    ],
    [
      'that the account names, whatever its form',
      undefined,
      'de_CH',
      'Ihr Webhook schlägt fehl: 10 Fehler in Folge',
    ],
    [
      'that is the first one, where nobody knows another',
      undefined,
      'fr',
      'Your webhook is failing: 10 failures in a row',
    ],
  ])('speaks the language %s', async (_, language, locale, subject) => {
    const user = rig.harness.identity.addUser(locale === undefined ? {} : { metadata: { locale } })
    await aWarning(user.id, { ...(language === undefined ? {} : { language }), error: 'timeout' })
    await send()
    const [mail] = rig.inbox.messages({ to: user.email })
    const isGerman = subject.startsWith('Ihr')
    expect(mail?.subject).toBe(subject)
    for (const body of [mail?.text, mail?.html])
      expect(body).toContain(
        isGerman
          ? '2. Januar 2026 um 03:04 UTC: keine Antwort innerhalb der Frist (timeout)'
          : '2 January 2026 at 03:04 UTC: no response in time (timeout)',
      )
    expect(mail?.html).toContain(`<html lang="${isGerman ? 'de' : 'en'}">`)
  })

  it('is in the name, the color and with the legal links of the operator', async () => {
    const user = rig.harness.identity.addUser()
    await aWarning(user.id)
    await send()
    const [mail] = rig.inbox.messages({ to: user.email })
    expect(mail?.text).toMatch(/^Acme Hooks\n/)
    expect(mail?.text).toContain('Support: help@acme.example')
    for (const part of ['Acme Hooks', '#005f2f', 'mailto:help@acme.example', 'https://acme.example/privacy'])
      expect(mail?.html).toContain(part)
  })

  it('goes to the address that the account has when it is sent', async () => {
    const user = rig.harness.identity.addUser()
    await aWarning(user.id)
    user.email = 'new-address@example.com'
    await send()
    expect(rig.inbox.messages().map(({ to }) => to)).toEqual([['new-address@example.com']])
    const { rows } = await rig.harness.db.query<{ text: string }>(
      'select w::text as text from webhook_endpoint_warnings w',
    )
    expect(rows.map(({ text }) => text).join()).not.toMatch(/@|example/)
  })

  it.each<[string, object]>([
    ['was deleted', { deleted: true }],
    ['is banned', { banned: true }],
    ['has a phone number only', { email: '', phone: '+4915100000000' }],
    ['never confirmed its address', { confirmed: false }],
  ])('of an account that %s goes nowhere', async (_, changes) => {
    const user = rig.harness.identity.addUser(changes)
    const { id } = await aWarning(user.id)
    await send()
    expect([rig.inbox.messages(), await stateOf(id)]).toMatchObject([[], { outcome: 'no_address' }])
  })

  it.each<[string, Changes]>([
    ['an endpoint that succeeded since', { threshold: 15, failures: 2 }],
    ['an endpoint that was enabled since', { threshold: 20, failures: 0, status: 1 }],
  ])('about %s is not sent', async (_, changes) => {
    const { id } = await aWarning(rig.harness.identity.addUser().id, changes)
    await send()
    expect([rig.inbox.messages(), await stateOf(id)]).toMatchObject([[], { outcome: 'resolved' }])
  })
})

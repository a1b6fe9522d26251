import { describe, expect, it } from '@jest/globals'
import { Outbox } from '../outbox/outbox.js'
import { OutboxStore } from '../outbox/outbox-store.js'
import { deriveKeys } from '../secrets/derived-keys.js'
import { tablesOf } from '../database/tables.js'
import { Mailer } from './mailer.js'

const now = () => new Date()

function aMailer(authorizedAddresses: readonly string[] = []): Mailer {
  const keys = deriveKeys('a secret that nobody else has, long enough')
  return new Mailer({
    config: {
      smtp: { host: '127.0.0.1', port: 25, adminEmail: 'no-reply@app.dev' },
      notices: new Set(),
      authorizedAddresses,
      lifeMs: { secret: 1, notice: 1 },
    },
    outbox: new Outbox({ store: new OutboxStore(tablesOf('')), keys, now }),
    observer: { mailSkipped: () => undefined },
    now,
  })
}

describe('addresses that no email goes to', () => {
  it.each([
    ['ann@example.com', true],
    ['ann+label@example.com', true],
    ['ANN@example.com', true],
    ['bob+x@example.com', true],
    ['eve@example.com', false],
  ])('with an allow-list, %s: %s', (to, allowed) => {
    const refuse = () => aMailer(['Ann@example.com', 'bob+label@example.com']).refuse(to)
    if (allowed) expect(refuse).not.toThrow()
    else
      expect(refuse).toThrow(
        expect.objectContaining({ kind: 'invalid', code: 'email_address_not_authorized' }),
      )
  })

  it.each([
    [`${'a'.repeat(64)}@example.com`, true],
    [`${'a'.repeat(65)}@example.com`, false],
    [`ann@${'b.'.repeat(125)}c`, false],
    [`ann@${'b.'.repeat(124)}cc`, true],
  ])('as long as %s: %s (RFC 5321, 4.5.3.1)', (to, deliverable) => {
    const refuse = () => aMailer().refuse(to)
    if (deliverable) expect(refuse).not.toThrow()
    else expect(refuse).toThrow(expect.objectContaining({ kind: 'invalid', code: 'email_address_invalid' }))
  })
})

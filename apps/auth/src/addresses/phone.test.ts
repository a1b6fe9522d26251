import { describe, expect, it } from '@jest/globals'
import { normalizePhone } from './phone.js'

describe('normalizePhone (docs/specification.md#addresses)', () => {
  it.each([
    ['+1 555 010 9999', '15550109999'],
    ['15550109999', '15550109999'],
    [' 44 20 7946 0000 ', '442079460000'],
    ['+12', '12'],
    ['123456789012345', '123456789012345'],
  ])('turns %j into %s', (raw, phone) => {
    expect(normalizePhone(raw)).toBe(phone)
  })

  it.each([
    '',
    '+',
    '1',
    '0123456',
    '++15550109999',
    '1-555-010',
    '(1)555',
    '1234567890123456',
    '1555\t010',
    '1555\n',
    '٣٤٥٦٧',
    'call me',
  ])('refuses %j', (raw) => {
    expect(() => normalizePhone(raw)).toThrow(
      expect.objectContaining({
        kind: 'invalid',
        code: 'validation_failed',
        message: 'Invalid phone number format (E.164 required)',
      }),
    )
  })
})

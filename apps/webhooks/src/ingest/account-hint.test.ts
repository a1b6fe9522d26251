import { expect, it } from '@jest/globals'
import { accountHint } from './account-hint.js'

const ID = '6B0F0000-0000-4000-8000-000000000000'
const hint = (value: object, space?: number) => accountHint(Buffer.from(JSON.stringify(value, null, space)))
const filler = 'x'.repeat(100_000)

it.each([
  ['at its beginning', { account_id: ID, filler }],
  ['at its end', { filler, account_id: ID }],
])('finds the account %s', (_, value) => {
  expect(hint(value)).toBe(ID.toLowerCase())
  expect(hint(value, 2)).toBe(ID.toLowerCase())
})

it.each([
  ['in the middle', { filler, account_id: ID, more: filler }],
  ['quoted in a text', { text: JSON.stringify({ account_id: ID }), filler }],
  ['that is none', { account_id: 'somebody', filler }],
])('does not find one %s', (_, value) => {
  expect(hint(value)).toBe('')
})

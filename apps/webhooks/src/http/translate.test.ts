import { expect, it } from '@jest/globals'
import { translateOutage } from './translate.js'

const translate = translateOutage('unavailable')

it.each([
  ['a deadlock', '40P01'],
  ['a conflict of transactions', '40001'],
  ['a statement that took too long', '57014'],
  ['a database that is shutting down', '57P01'],
])('asks to retry after %s', (_, code) => {
  const error = Object.assign(new Error('from PostgreSQL'), { code })
  expect(translate(error)).toMatchObject({
    kind: 'unavailable',
    code: 'unavailable',
    retryAfterSeconds: 5,
    cause: error,
  })
})

it('leaves errors alone that a retry would not fix', () => {
  expect(translate(Object.assign(new Error('syntax'), { code: '42601' }))).toBeUndefined()
})

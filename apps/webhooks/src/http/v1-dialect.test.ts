import { expect, it } from '@jest/globals'
import { AppError } from '@signet/errors'
import { type Request } from 'express'
import { v1Dialect } from './v1-dialect.js'

const bodyOf = (error: AppError) => v1Dialect.render(error, {} as Request).body

it('has one code for every failure of ours that is not an outage (webhooks contract A.9)', () => {
  expect(bodyOf(new AppError('timeout', 'request_timeout', 'The request took too long'))).toEqual({
    error: { code: 'internal', message: 'The request took too long' },
  })
  expect(bodyOf(v1Dialect.unexpected(new Error('column "secret" of relation "x"')))).toEqual({
    error: { code: 'internal', message: 'Something went wrong on our side' },
  })
  expect(bodyOf(new AppError('unavailable', 'unavailable', 'Away'))).toEqual({
    error: { code: 'unavailable', message: 'Away' },
  })
})

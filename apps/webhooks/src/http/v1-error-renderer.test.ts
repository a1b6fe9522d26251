import { expect, it } from '@jest/globals'
import { AppError } from '@signet/errors'
import type { Request } from 'express'
import { v1ErrorRenderer } from './v1-error-renderer.js'

const bodyOf = (error: AppError) => v1ErrorRenderer.render(error, {} as Request).body

it('has one code for every failure of ours that is not an outage (docs/specification.md#common-rules)', () => {
  expect(bodyOf(new AppError('timeout', 'request_timeout', 'The request took too long'))).toEqual({
    error: { code: 'internal', message: 'The request took too long' },
  })
  expect(bodyOf(v1ErrorRenderer.unexpected(new Error('column "secret" of relation "x"')))).toEqual({
    error: { code: 'internal', message: 'Something went wrong on our side' },
  })
  expect(bodyOf(new AppError('unavailable', 'unavailable', 'Away'))).toEqual({
    error: { code: 'unavailable', message: 'Away' },
  })
})

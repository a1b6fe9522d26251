import { describe, expect, it } from '@jest/globals'
import { AppError, isAppError } from './app-error.js'

describe('AppError', () => {
  it('keeps the cause for the log and out of the message', () => {
    const cause = new Error('connection to 10.0.0.1 refused')
    const error = new AppError('unavailable', 'unavailable', 'Try again later', {
      cause,
      retryAfterSeconds: 5,
    })
    expect(error.cause).toBe(cause)
    expect(error.message).toBe('Try again later')
    expect(error.retryAfterSeconds).toBe(5)
  })

  it('has no cause member when none was given', () => {
    expect('cause' in new AppError('invalid', 'bad_request', 'No')).toBe(false)
  })

  it('is named after its subclass', () => {
    class LimitReachedError extends AppError {}
    const error = new LimitReachedError('limited', 'too_many_requests', 'Enough')
    expect(error.name).toBe('LimitReachedError')
    expect(isAppError(error)).toBe(true)
    expect(isAppError(new Error('plain'))).toBe(false)
  })
})

import { EventEmitter } from 'node:events'
import { describe, expect, it } from '@jest/globals'
import { type Request, type Response } from 'express'
import { bodyAdmission } from './body-admission.js'

const request = (headers: Record<string, string>) => ({ headers }) as unknown as Request
const response = () => new EventEmitter() as unknown as Response
const LARGE = request({ 'content-length': '65537' })

describe('bodyAdmission', () => {
  it('takes so many large bodies at a time, and the next one when one is done', () => {
    const admit = bodyAdmission(2)
    const first = response()
    admit(LARGE, first)
    admit(LARGE, response())
    expect(() => admit(LARGE, response())).toThrow('Too many large bodies')
    first.emit('close')
    expect(() => admit(LARGE, response())).not.toThrow()
    expect(() => admit(LARGE, response())).toThrow('Too many large bodies')
  })

  it.each([
    [{ 'content-length': '65536' }, true],
    [{}, true],
    [{ 'content-length': '65537' }, false],
    [{ 'transfer-encoding': 'chunked' }, false],
    [{ 'content-length': '10', 'content-encoding': 'gzip' }, false],
  ])('lets %p pass when there is no room: %p', (headers, passes) => {
    const admit = bodyAdmission(0)
    const attempt = () => admit(request(headers), response())
    if (passes) expect(attempt).not.toThrow()
    else expect(attempt).toThrow('Too many large bodies')
  })
})

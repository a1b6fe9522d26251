import { describe, expect, it } from '@jest/globals'
import type { Request } from 'express'
import { bodyAdmission, MAX_BODY_BYTES } from './body-admission.js'

const request = (headers: Record<string, string | undefined>) => ({ headers }) as unknown as Request
const ofLength = (bytes: number) => request({ 'content-length': String(bytes) })

function response({ isGone = false } = {}) {
  let leave = () => {}
  return { end: { isGone, onceGone: (act: () => void) => void (leave = act) }, leave: () => leave() }
}
const MIB = 1024 * 1024

describe('bodyAdmission', () => {
  it('takes large bodies up to so many bytes together, and more when one is done', () => {
    const admit = bodyAdmission(10 * MIB)
    const first = response()
    admit(ofLength(6 * MIB), first)
    admit(ofLength(4 * MIB), response())
    expect(() => admit(ofLength(65_537), response())).toThrow('Too many large bodies')
    first.leave()
    admit(ofLength(5 * MIB), response())
    expect(() => admit(ofLength(2 * MIB), response())).toThrow('Too many large bodies')
  })

  it('takes nothing for a client that has left', () => {
    const admit = bodyAdmission(10 * MIB)
    admit(ofLength(10 * MIB), response({ isGone: true }))
    admit(ofLength(10 * MIB), response())
    expect(() => admit(ofLength(2 * MIB), response())).toThrow('Too many large bodies')
  })

  it('admits sixteen of the largest, and for a thousand of an ordinary size', () => {
    const largest = bodyAdmission()
    for (let i = 0; i < 16; i += 1) largest(ofLength(MAX_BODY_BYTES), response())
    expect(() => largest(ofLength(MAX_BODY_BYTES), response())).toThrow('Too many large bodies')
    const ordinary = bodyAdmission()
    for (let i = 0; i < 1000; i += 1) ordinary(ofLength(200_000), response())
  })

  it('assumes the largest size where none is declared, and no more for what will be refused', () => {
    for (const headers of [
      { 'transfer-encoding': 'chunked' },
      { 'content-length': '10', 'content-encoding': 'gzip' },
      { 'content-length': String(10 * MAX_BODY_BYTES) },
    ]) {
      const admit = bodyAdmission(MAX_BODY_BYTES)
      admit(request(headers), response())
      expect(() => admit(ofLength(65_537), response())).toThrow('Too many large bodies')
    }
  })

  it.each([{ 'content-length': '65536' }, {}])('lets %p pass when the window is full', (headers) => {
    expect(() => bodyAdmission(0)(request(headers), response())).not.toThrow()
  })
})

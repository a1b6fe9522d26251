import { expect, it } from '@jest/globals'
import type { Request } from 'express'
import { RequestGuard } from './request-guard.js'

const guard = new RequestGuard({
  bearer: {} as never,
  captcha: {} as never,
  addresses: {
    forwardedForEnabled: false,
    forwardedForHeader: 'X-Forwarded-For',
    forwardedForHops: 1,
    rateLimitHeader: undefined,
  },
})

function aRequest(headers: Record<string, string>): { req: Request; signal: AbortSignal } {
  const { signal } = new AbortController()
  const context = { requestId: 'r1', route: '/token', params: {}, fields: {}, end: { signal } }
  const req = {
    method: 'POST',
    get: (name: string) => headers[name],
    socket: { remoteAddress: '192.0.2.1' },
    res: { locals: { context } },
  }
  return { req: req as unknown as Request, signal }
}

it('describes the caller, without a shape of its own for each request', () => {
  const { req, signal } = aRequest({ 'user-agent': 'x'.repeat(400), 'accept-language': 'de' })
  const meta = guard.metaOf(req)
  expect(meta).toMatchObject({
    requestId: 'r1',
    route: '/token',
    ip: '192.0.2.1',
    userAgent: 'x'.repeat(300),
  })
  const accessors = Object.entries(Object.getOwnPropertyDescriptors(meta)).filter(
    ([, property]) => 'get' in property,
  )
  expect(accessors.map(([name]) => name)).toEqual([])
  expect(meta.language).toBe('de')
  expect(meta.signal).toBe(signal)
})

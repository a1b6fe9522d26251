import type { RequestMeta } from '../../src/requests/request-meta.js'

/** Request metadata for services that a test calls without a request. */
export const META: RequestMeta = {
  requestId: 'request-1',
  route: '/signup',
  ip: '192.0.2.1',
  client: { key: '192.0.2.1', shared: false },
  userAgent: 'test',
}

import { contextOfRequest } from '@signet/http'
import { type Request } from 'express'
import { type CaptchaVerifier } from '../captcha/captcha-verifier.js'
import { clientIp, clientKey, type ClientAddressConfig } from '../rate-limits/client-address.js'
import { type KeyedLimit } from '../rate-limits/rate-limits.js'
import { type Bearer } from './bearer.js'
import { captchaTokenOf } from './json-body.js'
import { type RequestMeta } from './request-meta.js'

type Deps = { bearer: Bearer; captcha: CaptchaVerifier; addresses: ClientAddressConfig }

/** What stands before a public handler: who is asking, how often, and whether a person is (contract 9.2 and 12.1). */
export class RequestGuard {
  constructor(private readonly deps: Deps) {}

  metaOf(req: Request): RequestMeta {
    const { requestId, route } = contextOfRequest(req)
    return { requestId, route, ip: this.ipOf(req), userAgent: req.get('user-agent') ?? '' }
  }

  ipOf(req: Request): string {
    return clientIp(req, this.deps.addresses)
  }

  /** A `limit` step of a route. */
  limit =
    (limit: KeyedLimit) =>
    (req: Request): Promise<void> =>
      limit.consume(clientKey(req, this.deps.addresses), contextOfRequest(req).requestId)

  /** Administrators are taken for people. */
  async captcha(
    req: Request,
    body: { captcha_token?: string; gotrue_meta_security?: Record<string, unknown> },
  ): Promise<void> {
    if (await this.deps.bearer.isAdmin(req)) return
    await this.deps.captcha.verify(captchaTokenOf(body), this.ipOf(req))
  }
}

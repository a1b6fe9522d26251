import { contextOfRequest } from '@signet/http'
import type { Language } from '@signet/language'
import type { Request } from 'express'
import type { CaptchaVerifier } from '../captcha/captcha-verifier.js'
import { isOverCapacity } from '../passwords/over-capacity.js'
import { clientIp, clientOf, type ClientAddressRules } from '../rate-limits/client-address.js'
import type { KeyedLimit, ReturningLimit } from '../rate-limits/rate-limits.js'
import type { Bearer } from './bearer.js'
import { captchaTokenOf } from '../requests/json-body.js'
import { requestLanguage } from '../requests/request-language.js'
import type { Client, RequestMeta } from '../requests/request-meta.js'

/** Browsers send less. Anyone can send this header, and it is stored. */
const MAX_USER_AGENT_LENGTH = 300

/**
 * A class instead of an object literal, because V8 gives every object literal with accessors a separate hidden class. The hidden class
 * refers to the accessors, they refer to the request, and only a full garbage collection frees all of it.
 */
class CallerMeta implements RequestMeta {
  readonly requestId: string
  readonly route: string
  readonly ip: string
  readonly client: Client
  readonly userAgent: string
  readonly #req: Request

  constructor(req: Request, addresses: ClientAddressRules) {
    const { requestId, route } = contextOfRequest(req)
    this.requestId = requestId
    this.route = route
    this.ip = clientIp(req, addresses)
    this.client = clientOf(req, addresses)
    this.userAgent = (req.get('user-agent') ?? '').slice(0, MAX_USER_AGENT_LENGTH)
    this.#req = req
  }

  get language(): Language {
    return requestLanguage(this.#req)
  }

  get signal(): AbortSignal {
    return contextOfRequest(this.#req).end.signal
  }
}

type Deps = { bearer: Bearer; captcha: CaptchaVerifier; addresses: ClientAddressRules }

/**
 * Checks in front of public handlers: who is calling, how often, and whether it is a person (docs/specification.md#captcha and
 * docs/specification.md#rate-limits).
 */
export class RequestGuard {
  constructor(private readonly deps: Deps) {}

  metaOf(req: Request): RequestMeta {
    return new CallerMeta(req, this.deps.addresses)
  }

  ipOf(req: Request): string {
    return clientIp(req, this.deps.addresses)
  }

  /** A `limit` step of a route. */
  limit =
    (limit: KeyedLimit) =>
    (req: Request): Promise<void> =>
      limit.consume(clientOf(req, this.deps.addresses), contextOfRequest(req).requestId)

  /** Gives back what the request took from the limit if it is refused because too many passwords are waiting: none was compared for it. */
  async sparing<Result>(limit: ReturningLimit, req: Request, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      if (isOverCapacity(error)) await limit.giveBack(clientOf(req, this.deps.addresses))
      throw error
    }
  }

  /** Administrators need no CAPTCHA. */
  async captcha(
    req: Request,
    body: { captcha_token?: string; gotrue_meta_security?: Record<string, unknown> },
  ): Promise<void> {
    if (await this.deps.bearer.isAdmin(req)) return
    await this.deps.captcha.verify(captchaTokenOf(body), this.ipOf(req))
  }
}

import { timingSafeEqual, type KeyObject } from 'node:crypto'
import type { Request, Response } from 'express'
import type { Cookies } from '../requests/cookies.js'
import { keyedHash, sha256 } from '../secrets/derived-keys.js'

type Deps = { cookies: Cookies; key: KeyObject; lifeMs: number }

/**
 * Binds the state of a flow to the browser that begins it (RFC 6749 section 10.12). Each flow has its own cookie, so flows in several tabs
 * do not interfere. The cookie is derived from the state, so nothing is stored.
 */
export class FlowCookies {
  constructor(private readonly deps: Deps) {}

  /** `posted`: the provider returns with a form post, which is a cross-site request. */
  give(res: Response, { state, posted }: { state: string; posted: boolean }): void {
    const { cookies, lifeMs } = this.deps
    cookies.set(res, nameOf(state), this.#valueOf(state), {
      maxAgeSeconds: Math.ceil(lifeMs / 1000),
      crossSite: posted,
    })
  }

  /** Whether the flow started in the browser that sent this request. */
  has(req: Request, state: string): boolean {
    const value = this.deps.cookies.read(req, nameOf(state)) ?? ''
    return timingSafeEqual(sha256(value), sha256(this.#valueOf(state)))
  }

  take(res: Response, state: string): void {
    this.deps.cookies.clear(res, nameOf(state))
  }

  #valueOf(state: string): string {
    return keyedHash(this.deps.key, 'flow', state).toString('base64url')
  }
}

const nameOf = (state: string): string => `signet_flow_${state}`

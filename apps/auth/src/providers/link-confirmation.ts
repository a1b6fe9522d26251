import { randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto'
import { keyedHash, sha256 } from '../secrets/derived-keys.js'
import { seal, unseal } from '../secrets/sealed-box.js'
import { type Departure } from './authorize-service.js'

/** A sign-in method that is about to be added, as it travels through the browser. */
export type PendingLink = Departure & {
  readonly provider: string
  /** The address of the account, for the person to recognise. */
  readonly account: string
}

type Sealed = PendingLink & { until: number }
type Deps = { key: KeyObject; externalUrl: string; lifeMs: number; now: () => Date }

const CONTEXT = 'pending link'
export const CONFIRM_PATH = '/authorize/confirm'

/**
 * Who asks for a link does so with a bearer token and without cookies, so nothing says in which browser the flow will
 * go on: its address could be sent to somebody else, whose account at the provider would be added to the account of
 * the sender. The address therefore leads to a page of this server, which names the account and asks.
 */
export class LinkConfirmation {
  constructor(private readonly deps: Deps) {}

  addressOf(link: PendingLink): string {
    const { key, externalUrl, lifeMs, now } = this.deps
    const sealed = seal(key, CONTEXT, JSON.stringify({ ...link, until: now().getTime() + lifeMs }))
    return `${externalUrl}${CONFIRM_PATH}?link=${sealed}`
  }

  /** The link of an address of ours; null when it is none, or too old. */
  read(sealed: string): PendingLink | null {
    try {
      const { until, ...link } = JSON.parse(unseal(this.deps.key, CONTEXT, sealed)) as Sealed
      return until > this.deps.now().getTime() ? link : null
    } catch {
      return null
    }
  }

  newBrowserId(): string {
    return randomBytes(24).toString('base64url')
  }

  /** The hidden field of the page; it fits one link in one browser. */
  formToken(browserId: string, { state }: PendingLink): string {
    return keyedHash(this.deps.key, CONTEXT, browserId, state).toString('base64url')
  }

  isFormToken(token: string, browserId: string, link: PendingLink): boolean {
    return browserId !== '' && timingSafeEqual(sha256(token), sha256(this.formToken(browserId, link)))
  }
}

import { randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto'
import { AppError } from '@signet/errors'
import { keyedHash, sha256 } from '../secrets/derived-keys.js'
import { seal, unseal } from '../secrets/sealed-box.js'
import type { Departure } from './authorize-service.js'

/** A sign-in method that someone is about to add. The browser carries it. */
export type PendingLink = Departure & {
  /** The address of the account, by which the person recognizes it; null for a guest. */
  readonly account: string | null
}

type Sealed = PendingLink & { until: number }
type Deps = { key: KeyObject; externalUrl: string; lifeMs: number; now: () => Date }

/** Why the confirmation page cannot go on. Pages have a text for each reason. */
export class LinkRefusal extends AppError {
  constructor(readonly reason: keyof typeof REFUSALS) {
    const { kind, message } = REFUSALS[reason]
    super(kind, 'validation_failed', message)
  }
}

const REFUSALS = {
  over: { kind: 'invalid', message: 'This link no longer works. Start again in the application.' },
  foreign: {
    kind: 'forbidden',
    message:
      'This form did not come from a page open in this browser. Go back, reload the page and try again.',
  },
} as const

const CONTEXT = 'pending link'
export const CONFIRM_PATH = '/authorize/confirm'

/**
 * Linking is requested with a bearer token and no cookies, so nothing binds the flow to a browser. Someone could send its URL to another
 * person, whose provider account would then be linked to the sender's account. Therefore, the URL leads to a page of this server, which
 * names the account and asks for confirmation.
 */
export class LinkConfirmation {
  constructor(private readonly deps: Deps) {}

  addressOf(link: PendingLink): string {
    const { key, externalUrl, lifeMs, now } = this.deps
    const sealed = seal(key, CONTEXT, JSON.stringify({ ...link, until: now().getTime() + lifeMs }))
    return `${externalUrl}${CONFIRM_PATH}?link=${sealed}`
  }

  /** The pending link in one of our URLs; null when it is invalid or expired. */
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

  /** The hidden field of the page, valid for one link in one browser. */
  formToken(browserId: string, { state }: PendingLink): string {
    return keyedHash(this.deps.key, CONTEXT, browserId, state).toString('base64url')
  }

  isFormToken(token: string, browserId: string, link: PendingLink): boolean {
    return browserId !== '' && timingSafeEqual(sha256(token), sha256(this.formToken(browserId, link)))
  }
}

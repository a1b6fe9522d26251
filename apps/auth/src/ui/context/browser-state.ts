import { randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto'
import type { Request, Response } from 'express'
import type { Challenge } from '../../flows/pkce.js'
import { keyedHash, sha256 } from '../../secrets/derived-keys.js'
import { seal, unseal } from '../../secrets/sealed-box.js'
import type { Cookies } from '../../requests/cookies.js'
import { contextFields, type SignInContext } from './sign-in-context.js'

/** Who signed in on the pages in this browser, and with which session. */
export type Mark = {
  readonly userId: string
  readonly sessionId: string
  /** Milliseconds since the epoch. */
  readonly until: number
  /** The challenge of the code last sent to a phone factor. */
  readonly challenge?: { readonly id: string; readonly factorId: string }
}

/**
 * The browser that sent a request. `id` is a secret of that browser. `lastUserId` is the person who signed in on its pages last, even if
 * the session has run out.
 */
export type Browser = { readonly id: string; readonly mark: Mark | null; readonly lastUserId: string | null }

const BROWSER = 'signet_ui'
const MARK = 'signet_ui_session'
const ASKED = 'signet_ui_asked'
const HANDOVER = 'signet_ui_handover'
const HANDOVER_MS = 300_000
const ID_FORM = /^[A-Za-z0-9_-]{32}$/

type Deps = { key: KeyObject; cookies: Cookies; now: () => Date }

/**
 * What the pages know about a browser, stored in cookies: a random id, from which form tokens and PKCE verifiers are derived, and a sealed
 * mark of who signed in. The cookies contain no tokens.
 */
export class BrowserState {
  constructor(private readonly deps: Deps) {}

  /** The browser of a request. A new browser gets its id with the response. */
  read(req: Request, res: Response): Browser {
    const { cookies } = this.deps
    const known = this.find(req)
    if (known !== null) return known
    const id = randomBytes(24).toString('base64url')
    cookies.set(res, BROWSER, id)
    return { id, mark: null, lastUserId: null }
  }

  find(req: Request): Browser | null {
    const id = this.deps.cookies.read(req, BROWSER) ?? ''
    if (!ID_FORM.test(id)) return null
    const mark = this.#markOf(req, id)
    const isCurrent = mark !== null && mark.until > this.deps.now().getTime()
    return { id, mark: isCurrent ? mark : null, lastUserId: mark?.userId ?? null }
  }

  remember(res: Response, { id }: Browser, mark: Mark): Browser {
    const { cookies } = this.deps
    // The id is authenticated too: a mark copied to another browser does not open.
    cookies.set(res, MARK, this.seal(id, mark))
    return { id, mark, lastUserId: mark.userId }
  }

  /**
   * Names everything that one person signs in to from this browser. The name is computed and not stored. So it is the same after a session
   * has expired, in two tabs at the same time, and after someone else used the browser in between.
   */
  signInId({ id }: Browser, userId: string): string {
    return uuidOf(this.#hash('sign-in', id, userId))
  }

  /** The id of the sign-up that a page waits for, from the nonce of its message. It does not reveal whether there was a sign-up. */
  signUpId(nonce: string): string {
    return uuidOf(this.#hash('sign-up', nonce))
  }

  forget(res: Response, { id }: Browser): Browser {
    this.deps.cookies.clear(res, MARK)
    return { id, mark: null, lastUserId: null }
  }

  /** Leaves a value for the next page of this browser. It is sealed and opens only with the same label. */
  leave(res: Response, label: string, value: object): void {
    const { cookies, now } = this.deps
    const sealed = this.seal(label, { value, until: now().getTime() + HANDOVER_MS })
    cookies.set(res, HANDOVER, sealed, { maxAgeSeconds: HANDOVER_MS / 1000 })
  }

  /** Takes the value that {@link leave} left; null if it was taken before or has expired. */
  take<T>(req: Request, res: Response, label: string): T | null {
    const { cookies, now } = this.deps
    const sealed = cookies.read(req, HANDOVER) ?? ''
    if (sealed === '') return null
    cookies.clear(res, HANDOVER)
    const left = this.open<{ value: T; until: number }>(label, sealed)
    return left !== null && left.until > now().getTime() ? left.value : null
  }

  /** The hidden field of one form. It is bound to the browser, and changes with the session. */
  formToken(browser: Browser, form: string): string {
    const { id, mark } = browser
    const ofSession = this.#hash('form', id, mark?.sessionId ?? '', form).toString('base64url')
    return `${this.#browserToken(browser, form)}.${ofSession}`
  }

  isFormToken(browser: Browser, form: string, token: string): boolean {
    return isSame(this.formToken(browser, form), token)
  }

  /** Whether this browser got the form, even if someone has signed in or out in it since. */
  isFormOfBrowser(browser: Browser, form: string, token: string): boolean {
    return isSame(this.#browserToken(browser, form), token.split('.', 1)[0] ?? '')
  }

  #browserToken({ id }: Browser, form: string): string {
    return this.#hash('form of browser', id, form).toString('base64url')
  }

  /**
   * The pages are a PKCE client of this server. Links in emails and redirects from providers carry a code that only this browser can
   * redeem, and only in the context that it was requested for (decision 0110).
   */
  verifier({ id }: Browser, context: SignInContext): string {
    return this.#hash('verifier', id, JSON.stringify(contextFields(context))).toString('base64url')
  }

  challenge(browser: Browser, context: SignInContext): Challenge {
    return { challenge: sha256(this.verifier(browser, context)).toString('base64url'), method: 's256' }
  }

  /** The code that a link leaves for the browser that asked for it, if the link is confirmed elsewhere. */
  confirmedCode({ challenge }: Challenge, nonce: string): string {
    return this.#hash('confirmed link', challenge, nonce).toString('base64url')
  }

  /** Two digits that the browser that requested a link shows, for the person to type when they confirm the link elsewhere. */
  matchingNumber({ challenge }: Challenge, nonce: string): string {
    return String(10 + (this.#hash('matching number', challenge, nonce).readUInt32BE() % 90))
  }

  /**
   * Stores the nonce of the last message that this browser asked for, and what it was for. The cookie is sealed and set again with every
   * request, so nobody can tell whether it has changed.
   */
  rememberAsked(res: Response, { id }: Browser, nonce: string, wish: string): void {
    this.deps.cookies.set(res, ASKED, this.seal(`asked ${id}`, { nonce, wish: this.#wish(nonce, wish) }))
  }

  /**
   * The nonce of the last message, if it was asked for with exactly the same `wish`. Another person at this browser, or another password,
   * is another wish.
   */
  askedBefore(req: Request, { id }: Browser, wish: string): string | null {
    const sealed = this.deps.cookies.read(req, ASKED) ?? ''
    const asked = this.open<{ nonce: string; wish: string }>(`asked ${id}`, sealed)
    return asked !== null && asked.wish === this.#wish(asked.nonce, wish) ? asked.nonce : null
  }

  #wish(nonce: string, wish: string): string {
    return this.#hash('asked for', nonce, wish).toString('base64url')
  }

  /** Seals a value for a URL or a form. It opens only with the same label. */
  seal(label: string, value: object): string {
    return seal(this.deps.key, label, JSON.stringify(value))
  }

  /** Opens a value from {@link seal}; null if it was sealed for another label or has been changed. */
  open<T>(label: string, sealed: string): T | null {
    try {
      return JSON.parse(unseal(this.deps.key, label, sealed)) as T
    } catch {
      return null
    }
  }

  #hash(...parts: readonly string[]): Buffer {
    return keyedHash(this.deps.key, ...parts)
  }

  #markOf(req: Request, id: string): Mark | null {
    const sealed = this.deps.cookies.read(req, MARK)
    if (sealed === undefined || sealed === '') return null
    return this.open<Mark>(id, sealed)
  }
}

function uuidOf(hash: Buffer): string {
  const hex = hash.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  )
}

const isSame = (expected: string, given: string): boolean => timingSafeEqual(sha256(expected), sha256(given))

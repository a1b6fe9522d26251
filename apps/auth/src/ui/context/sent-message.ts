import { randomBytes } from 'node:crypto'
import type { BrowserState, Browser } from './browser-state.js'

/** What a message is for. */
export type MessageKind = 'email' | 'sign_up' | 'recovery' | 'sms' | 'sms_sign_up'

/** A message that someone asked for, whether or not it was sent. */
export type SentMessage = {
  readonly kind: MessageKind
  readonly address: string
  /** Secret of this request. When the link is confirmed elsewhere, only the page with this nonce continues. */
  readonly nonce: string
  /** When the person asked, in milliseconds since the epoch. */
  readonly at: number
  /** When they can ask again. */
  readonly nextAt: number
  /** Whether the person asked to send it again. */
  readonly again?: boolean
}

export const newNonce = (): string => randomBytes(16).toString('base64url')

export type MessageIntervals = Readonly<Record<MessageKind, number>>

export const isEmail = (kind: MessageKind): boolean => kind !== 'sms' && kind !== 'sms_sign_up'

const labelOf = ({ id }: Browser): string => `sent message ${id}`

/** Seals the message for the URL of the page that waits for it. The URL has no address in plain text, and works only in this browser. */
export const sealSent = (state: BrowserState, browser: Browser, sent: SentMessage): string =>
  state.seal(labelOf(browser), sent)

export const openSent = (state: BrowserState, browser: Browser, sealed: string): SentMessage | null =>
  state.open<SentMessage>(labelOf(browser), sealed)

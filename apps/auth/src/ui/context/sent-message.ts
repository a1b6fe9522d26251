import { randomBytes } from 'node:crypto'
import type { BrowserState, Browser } from './browser-state.js'

/** What a message is for. */
export const MESSAGE_KINDS = ['email', 'sign_up', 'recovery', 'sms', 'sms_sign_up'] as const
export type MessageKind = (typeof MESSAGE_KINDS)[number]

/** A message that was asked for, whether or not one was sent. */
export type SentMessage = {
  readonly kind: MessageKind
  readonly address: string
  /** Secret of this request: only the page that waits for it continues when its link is confirmed elsewhere. */
  readonly nonce: string
  /** When the person asked, in milliseconds since the epoch. */
  readonly at: number
  /** When they can ask again. */
  readonly nextAt: number
  /** Sent again, because the person asked for it. */
  readonly again?: boolean
}

export const newNonce = (): string => randomBytes(16).toString('base64url')

export type MessageIntervals = Readonly<Record<MessageKind, number>>

export const isEmail = (kind: MessageKind): boolean => kind !== 'sms' && kind !== 'sms_sign_up'

const labelOf = ({ id }: Browser): string => `sent message ${id}`

/** For the URL of the page that waits: without the address in plain text, and usable only in this browser. */
export const sealSent = (state: BrowserState, browser: Browser, sent: SentMessage): string =>
  state.seal(labelOf(browser), sent)

export const openSent = (state: BrowserState, browser: Browser, sealed: string): SentMessage | null =>
  state.open<SentMessage>(labelOf(browser), sealed)

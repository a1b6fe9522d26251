import { UndeliverableError } from '../outbox/outbox-handler.js'
import type { Outbound } from '../outbound/outbound.js'
import { messagebird, type MessagebirdConfig } from './messagebird.js'
import { SmsGatewayError, type SmsChannel, type SmsGateway } from './sms-gateway.js'
import { textlocal, type TextlocalConfig } from './textlocal.js'
import { twilio, type TwilioConfig } from './twilio.js'
import { vonage, type VonageConfig } from './vonage.js'

export type { SmsChannel } from './sms-gateway.js'

export type SmsSender = {
  /** Whether a gateway is configured. */
  readonly isReady: boolean
  /**
   * Sends the code in the configured text to `phone` (digits without `+`). Throws `UndeliverableError` when the gateway
   * refused the message permanently, and other errors when a later attempt may succeed. `messageId` is the gateway's own.
   */
  send(phone: string, code: string, channel: SmsChannel): Promise<{ messageId: string }>
}

export type SmsGatewayConfig = TwilioConfig | MessagebirdConfig | TextlocalConfig | VonageConfig
export type SmsProvider = SmsGatewayConfig['provider']

/** The `provider` member picks the gateway and carries its credentials. */
export type SmsConfig = {
  /** AUTH_SMS_TEMPLATE or AUTH_MFA_PHONE_TEMPLATE: `{{ .Code }}` becomes the code. */
  template: string
  /** Undefined if none is configured. Then nothing can be sent. */
  gateway: SmsGatewayConfig | undefined
  /** Time limit for a gateway to answer. */
  timeoutMs: number
}

type Deps = {
  config: SmsConfig
  outbound: Outbound
  /** Base URLs of the gateways; tests override them. */
  baseUrls?: Readonly<Record<SmsProvider, string>> | undefined
}

const BASE_URLS: Readonly<Record<SmsProvider, string>> = {
  twilio: 'https://api.twilio.com',
  messagebird: 'https://rest.messagebird.com',
  textlocal: 'https://api.textlocal.in',
  vonage: 'https://rest.nexmo.com',
}

export function createSmsSender(deps: Deps): SmsSender {
  const { config } = deps
  const gateway = config.gateway && createGateway(config.gateway, deps)
  return {
    isReady: gateway !== undefined,
    async send(phone, code, channel) {
      if (!gateway) throw new Error('no SMS gateway is configured')
      const text = config.template.replace(/\{\{\s*\.Code\s*\}\}/g, () => code)
      try {
        return await gateway({ phone, text, code, channel })
      } catch (error) {
        throw withoutCode(error, code)
      }
    },
  }
}

function createGateway(
  gateway: SmsGatewayConfig,
  { outbound, baseUrls = BASE_URLS, config: { timeoutMs } }: Deps,
): SmsGateway {
  const timed: Outbound = { ...outbound, request: (request) => outbound.request({ timeoutMs, ...request }) }
  const deps = { outbound: timed, baseUrl: baseUrls[gateway.provider] }
  switch (gateway.provider) {
    case 'twilio':
      return twilio(gateway, deps)
    case 'messagebird':
      return messagebird(gateway, deps)
    case 'textlocal':
      return textlocal(gateway, deps)
    case 'vonage':
      return vonage(gateway, deps)
  }
}

/** Gateways may quote the refused text, including the code, which must not get into the log. */
function withoutCode(error: unknown, code: string): Error {
  const reason = error instanceof Error ? error.message.replaceAll(code, '[code]') : 'unknown'
  const isFinal = error instanceof SmsGatewayError && error.final
  return isFinal ? new UndeliverableError(reason) : new Error(reason)
}

import { isAppError } from '@signet/errors'
import { type Logger } from '@signet/telemetry'
import { authError } from '../errors/auth-error.js'
import { type Outbound } from '../outbound/outbound.js'
import { type GlobalLimit } from '../rate-limits/rate-limits.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { messagebird, type MessagebirdConfig } from './messagebird.js'
import { type SmsChannel, type SmsGateway } from './sms-gateway.js'
import { textlocal, type TextlocalConfig } from './textlocal.js'
import { twilio, type TwilioConfig } from './twilio.js'
import { vonage, type VonageConfig } from './vonage.js'

export { type SmsChannel } from './sms-gateway.js'

export type SmsSender = {
  /**
   * Sends the code in the configured text to `phone` (digits without `+`). Throws `over_sms_send_rate_limit`, or
   * `sms_send_failed` (422) when the gateway refused or did not answer. `messageId` is the gateway's own.
   */
  send(phone: string, code: string, channel: SmsChannel, meta: RequestMeta): Promise<{ messageId: string }>
}

export type SmsGatewayConfig = TwilioConfig | MessagebirdConfig | TextlocalConfig | VonageConfig
export type SmsProvider = SmsGatewayConfig['provider']

/** Contract 9.1. The `provider` member picks the gateway and carries its credentials. */
export type SmsConfig = {
  /** AUTH_SMS_TEMPLATE or AUTH_MFA_PHONE_TEMPLATE: `{{ .Code }}` becomes the code. */
  template: string
  /** Undefined when none is configured: sending then fails with `unexpected_failure`. */
  gateway: SmsGatewayConfig | undefined
  /** For a gateway to answer; less than the limit of a request, so that silence is still answered as a refusal. */
  timeoutMs: number
}

type Deps = {
  config: SmsConfig
  outbound: Outbound
  log: Logger
  /** The quota of the whole server. */
  limit: Pick<GlobalLimit, 'consume'>
  /** Where the gateways are; other places are for tests. */
  baseUrls?: Readonly<Record<SmsProvider, string>> | undefined
}

const BASE_URLS: Readonly<Record<SmsProvider, string>> = {
  twilio: 'https://api.twilio.com',
  messagebird: 'https://rest.messagebird.com',
  textlocal: 'https://api.textlocal.in',
  vonage: 'https://rest.nexmo.com',
}

export function createSmsSender(deps: Deps): SmsSender {
  const { config, limit, log } = deps
  const gateway = config.gateway && createGateway(config.gateway, deps)
  return {
    async send(phone, code, channel, meta) {
      if (!gateway)
        throw authError('internal', 'unexpected_failure', 'SMS cannot be sent', {
          cause: new Error('AUTH_SMS_PROVIDER is not configured'),
        })
      await limit.consume(meta)
      const text = config.template.replace(/\{\{\s*\.Code\s*\}\}/g, () => code)
      try {
        return await gateway({ phone, text, code, channel })
      } catch (error) {
        throw sendFailed(error, code, log.child({ request_id: meta.requestId }))
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

/** The caller learns that it failed, the log why. Gateways may quote the text they refused, and the code with it. */
function sendFailed(error: unknown, code: string, log: Logger): unknown {
  if (isAppError(error)) return error
  const reason = error instanceof Error ? error.message.replaceAll(code, '[code]') : 'unknown'
  log.error('the SMS gateway did not take a message', { reason })
  return authError('unprocessable', 'sms_send_failed', 'The SMS could not be sent')
}

import { readJson, SmsGatewayError, taken, type GatewayDeps, type SmsGateway } from './sms-gateway.js'

export type VonageConfig = { provider: 'vonage'; apiKey: string; apiSecret: string; from: string }

type Answer = {
  messages: readonly { status?: unknown; 'message-id'?: unknown; 'error-text'?: unknown }[]
}

/** Temporary errors: throttled, wrong credentials, internal error, account barred, no credit left, too many connections. */
const PASSING = new Set(['1', '4', '5', '8', '9', '10'])
const ASCII = /^[\0-\x7f]*$/

export function vonage(config: VonageConfig, { outbound, baseUrl }: GatewayDeps): SmsGateway {
  return async ({ phone, text }) => {
    const body = new URLSearchParams({
      from: config.from,
      to: phone,
      text,
      api_key: config.apiKey,
      api_secret: config.apiSecret,
    })
    if (!ASCII.test(text)) body.set('type', 'unicode')
    const response = await outbound.request({ method: 'POST', url: `${baseUrl}/sms/json`, body })
    // Errors also have status 200; the first message contains them.
    const message = readJson<Answer>(response).messages?.[0]
    if (!message) throw new SmsGatewayError(`${response.status}: no messages in the answer`, false)
    if (message.status !== '0')
      throw new SmsGatewayError(
        `${String(message.status)}: ${String(message['error-text'])}`,
        !PASSING.has(String(message.status)),
      )
    return taken(message['message-id'])
  }
}

import {
  isFinalStatus,
  readJson,
  SmsGatewayError,
  taken,
  type GatewayDeps,
  type SmsGateway,
  type SmsMessage,
} from './sms-gateway.js'

export type TwilioConfig = {
  provider: 'twilio'
  accountSid: string
  authToken: string
  /** A messaging service SID or a sender number. */
  messageServiceSid: string
  /** WhatsApp content template; its variable 1 is the code. */
  contentSid?: string | undefined
}

type Answer = { sid: unknown; status: unknown; code: unknown; message: unknown }

const NUMBER = /^\+?[1-9]\d{1,14}$/

export function twilio(config: TwilioConfig, { outbound, baseUrl }: GatewayDeps): SmsGateway {
  const url = `${baseUrl}/2010-04-01/Accounts/${encodeURIComponent(config.accountSid)}/Messages.json`
  const credentials = Buffer.from(`${config.accountSid}:${config.authToken}`).toString('base64')
  return async (message) => {
    const response = await outbound.request({
      method: 'POST',
      url,
      headers: { authorization: `Basic ${credentials}` },
      body: new URLSearchParams(parameters(config, message)),
    })
    const answer = readJson<Answer>(response)
    // In an error, the `status` of the body is the HTTP status; in a message, it is the delivery status.
    if (response.status !== 200 && response.status !== 201)
      throw new SmsGatewayError(
        `${response.status}: ${String(answer.code)} ${String(answer.message)}`,
        isFinalStatus(response.status),
      )
    if (answer.status === 'failed' || answer.status === 'undelivered')
      throw new SmsGatewayError(`the message is ${answer.status}`, true)
    return taken(answer.sid)
  }
}

function parameters(
  { messageServiceSid: sender, contentSid }: TwilioConfig,
  message: SmsMessage,
): Record<string, string> {
  const { phone, text, code, channel } = message
  if (channel === 'sms') return { To: `+${phone}`, From: sender, Body: text, Channel: channel }
  const addresses = {
    To: `whatsapp:+${phone}`,
    From: NUMBER.test(sender) ? `whatsapp:${sender}` : sender,
    Channel: channel,
  }
  if (contentSid === undefined) return { ...addresses, Body: text }
  return { ...addresses, ContentSid: contentSid, ContentVariables: JSON.stringify({ 1: code }) }
}

import {
  isFinalStatus,
  readJson,
  SmsGatewayError,
  taken,
  type GatewayDeps,
  type SmsGateway,
} from './sms-gateway.js'

export type TextlocalConfig = { provider: 'textlocal'; apiKey: string; sender: string }

type Answer = {
  status: unknown
  messages: readonly { id?: unknown }[]
  errors: readonly { code?: number; message?: string }[]
}

const TEMPLATE_MISMATCH = 80
/** Temporary errors: wrong credentials, no credit left, outside the permitted hours. */
const PASSING = new Set([3, 7, 192])

export function textlocal(config: TextlocalConfig, { outbound, baseUrl }: GatewayDeps): SmsGateway {
  return async ({ phone, text }) => {
    const response = await outbound.request({
      method: 'POST',
      url: `${baseUrl}/send`,
      body: new URLSearchParams({
        sender: config.sender,
        apikey: config.apiKey,
        message: text,
        numbers: phone,
      }),
    })
    const answer = readJson<Answer>(response)
    if (answer.status === 'success') return taken(answer.messages?.[0]?.id)
    const { code, message } = answer.errors?.[0] ?? {}
    // Indian networks only deliver registered texts, so the operator has to correct the template.
    if (code === TEMPLATE_MISMATCH)
      throw new SmsGatewayError(
        '80: AUTH_SMS_TEMPLATE does not match the template registered with Textlocal',
        true,
      )
    const final = code === undefined ? isFinalStatus(response.status) : !PASSING.has(code)
    throw new SmsGatewayError(`${code ?? response.status}: ${message ?? ''}`, final)
  }
}

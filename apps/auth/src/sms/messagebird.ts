import {
  isFinalStatus,
  readJson,
  SmsGatewayError,
  taken,
  type GatewayDeps,
  type SmsGateway,
} from './sms-gateway.js'

export type MessagebirdConfig = { provider: 'messagebird'; accessKey: string; originator: string }

type Answer = {
  id: unknown
  recipients: { totalSentCount?: unknown }
  errors: readonly { description?: unknown }[]
}

export function messagebird(config: MessagebirdConfig, { outbound, baseUrl }: GatewayDeps): SmsGateway {
  return async ({ phone, text }) => {
    const response = await outbound.request({
      method: 'POST',
      url: `${baseUrl}/messages`,
      headers: { authorization: `AccessKey ${config.accessKey}` },
      body: new URLSearchParams({
        originator: config.originator,
        body: text,
        recipients: phone,
        type: 'sms',
        datacoding: 'unicode',
      }),
    })
    const answer = readJson<Answer>(response)
    if (response.status < 200 || response.status > 299)
      throw new SmsGatewayError(
        `${response.status}: ${String(answer.errors?.[0]?.description)}`,
        isFinalStatus(response.status),
      )
    if (!(Number(answer.recipients?.totalSentCount) > 0))
      throw new SmsGatewayError('it was sent to no recipient', true)
    return taken(answer.id)
  }
}

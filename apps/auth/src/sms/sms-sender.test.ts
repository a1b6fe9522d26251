import { createServer } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { listenLocally, type LocalServer } from '@signet/testkit'
import { UndeliverableError } from '../outbox/outbox-handler.js'
import { createOutbound } from '../outbound/outbound.js'
import { createSmsSender, type SmsGatewayConfig } from './sms-sender.js'

type Seen = {
  url: string
  authorization: string | undefined
  type: string | undefined
  form: Record<string, string>
}
type Answer = { status: number; body: unknown } | 'break' | 'hang'

const CODE = '123456'
const PHONE = '15550109999'

const configs = {
  twilio: { provider: 'twilio', accountSid: 'AC1', authToken: 'tw-token', messageServiceSid: 'MG1' },
  messagebird: { provider: 'messagebird', accessKey: 'mb-key', originator: 'Signet' },
  textlocal: { provider: 'textlocal', apiKey: 'tl-key', sender: 'SIGNET' },
  vonage: { provider: 'vonage', apiKey: 'vo-key', apiSecret: 'vo-secret', from: 'Signet' },
} as const satisfies Record<string, SmsGatewayConfig>

describe('SMS gateways', () => {
  let seen: Seen[] = []
  let answer: Answer
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', (chunk: Buffer) => (text += chunk.toString()))
    req.on('end', () => {
      const { authorization, 'content-type': type } = req.headers
      seen.push({
        url: req.url ?? '',
        authorization,
        type,
        form: Object.fromEntries(new URLSearchParams(text)),
      })
      if (answer === 'break') res.destroy()
      else if (answer !== 'hang') res.writeHead(answer.status).end(bodyOf(answer.body))
    })
  })
  const bodyOf = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body))
  const outbound = createOutbound({ allowPrivateUrls: true })
  let gateways: LocalServer
  beforeAll(async () => {
    gateways = await listenLocally(server)
  })
  afterAll(async () => {
    await outbound.close()
    await gateways.close()
  })
  beforeEach(() => {
    seen = []
  })

  function sender(gateway: SmsGatewayConfig | undefined, template = 'Your code is {{ .Code }}') {
    const { origin } = gateways
    // On a busy machine, even a gateway that answers may take long.
    const timeoutMs = answer === 'hang' ? 100 : 60_000
    return createSmsSender({
      config: { gateway, template, timeoutMs },
      outbound,
      baseUrls: { twilio: origin, messagebird: origin, textlocal: origin, vonage: origin },
    })
  }
  const send = (gateway: SmsGatewayConfig, channel: 'sms' | 'whatsapp' = 'sms', template?: string) =>
    sender(gateway, template).send(PHONE, CODE, channel)

  const success = {
    twilio: { status: 201, body: { sid: 'SM1', status: 'queued' } },
    messagebird: { status: 201, body: { id: 'mb1', recipients: { totalSentCount: 1 } } },
    textlocal: { status: 200, body: { status: 'success', messages: [{ id: 'tl1' }] } },
    vonage: { status: 200, body: { messages: [{ status: '0', 'message-id': 'vo1' }] } },
  }

  it('twilio: Basic credentials, numbers with +, the service as sender', async () => {
    answer = success.twilio
    await expect(send(configs.twilio)).resolves.toEqual({ messageId: 'SM1' })
    expect(seen).toEqual([
      {
        url: '/2010-04-01/Accounts/AC1/Messages.json',
        authorization: `Basic ${Buffer.from('AC1:tw-token').toString('base64')}`,
        type: 'application/x-www-form-urlencoded',
        form: { To: `+${PHONE}`, From: 'MG1', Body: `Your code is ${CODE}`, Channel: 'sms' },
      },
    ])
  })

  it.each([
    ['+15005550006', 'whatsapp:+15005550006'],
    ['MG1', 'MG1'],
  ])('twilio whatsapp: sender %s goes out as %s', async (messageServiceSid, From) => {
    answer = success.twilio
    await send({ ...configs.twilio, messageServiceSid }, 'whatsapp')
    expect(seen[0]?.form).toMatchObject({ To: `whatsapp:+${PHONE}`, From, Body: `Your code is ${CODE}` })
  })

  it('twilio whatsapp: a content template gets the code as variable 1 and replaces the text', async () => {
    answer = success.twilio
    await send({ ...configs.twilio, contentSid: 'HX1' }, 'whatsapp')
    expect(seen[0]?.form).toMatchObject({ ContentSid: 'HX1', ContentVariables: `{"1":"${CODE}"}` })
    expect(seen[0]?.form).not.toHaveProperty('Body')
  })

  it('messagebird: access key and unicode', async () => {
    answer = success.messagebird
    await expect(send(configs.messagebird)).resolves.toEqual({ messageId: 'mb1' })
    expect(seen).toEqual([
      {
        url: '/messages',
        authorization: 'AccessKey mb-key',
        type: 'application/x-www-form-urlencoded',
        form: {
          originator: 'Signet',
          body: `Your code is ${CODE}`,
          recipients: PHONE,
          type: 'sms',
          datacoding: 'unicode',
        },
      },
    ])
  })

  it('textlocal: key and sender in the form', async () => {
    answer = success.textlocal
    await expect(send(configs.textlocal)).resolves.toEqual({ messageId: 'tl1' })
    expect(seen[0]).toMatchObject({
      url: '/send',
      form: { apikey: 'tl-key', sender: 'SIGNET', message: `Your code is ${CODE}`, numbers: PHONE },
    })
  })

  it.each([
    ['Your code is {{ .Code }}', undefined],
    ['Ihr Schlüssel: {{.Code}}', 'unicode'],
  ])('vonage: %j has the type %s', async (template, type) => {
    answer = success.vonage
    await expect(send(configs.vonage, 'sms', template)).resolves.toEqual({ messageId: 'vo1' })
    expect(seen[0]).toMatchObject({
      url: '/sms/json',
      form: { from: 'Signet', to: PHONE, api_key: 'vo-key', api_secret: 'vo-secret' },
    })
    expect(seen[0]?.form['type']).toBe(type)
  })

  it('puts the code wherever the template wants it, as it is', async () => {
    answer = success.textlocal
    await sender(configs.textlocal, '{{ .Code }}/{{.Code}} {{ .Other }} $&').send(PHONE, '$1', 'sms')
    expect(seen[0]?.form['message']).toBe('$1/$1 {{ .Other }} $&')
  })

  const invalidNumber = {
    code: 21211,
    message: `Invalid 'To' for ${CODE}`,
    more_info: 'https://x',
    status: 400,
  }
  const error = (status: number, body: object): Answer => ({ status, body })
  const messagebirdErrors = { errors: [{ code: 9, description: 'no (correct) recipients found' }] }
  const textlocalError = (code: number, message: string) =>
    error(200, { status: 'failure', errors: [{ code, message }] })
  type Row = [name: string, SmsGatewayConfig, Answer, reason: string]
  const expectRefusal = async (config: SmsGatewayConfig, given: Answer, reason: string, final: boolean) => {
    answer = given
    const failure = await send(config).catch((thrown: unknown) => thrown)
    expect(failure).toBeInstanceOf(Error)
    expect(failure instanceof UndeliverableError).toBe(final)
    const { message } = failure as Error
    expect(message).toContain(reason)
    expect(message).not.toMatch(new RegExp(`${CODE}|tw-token|mb-key|tl-key|vo-key|vo-secret`))
  }

  it.each<Row>([
    ['twilio: error body', configs.twilio, error(400, invalidNumber), '400: 21211 Invalid'],
    ['twilio: failed', configs.twilio, error(201, { sid: 'SM1', status: 'failed' }), 'failed'],
    ['twilio: undelivered', configs.twilio, error(200, { sid: 'S', status: 'undelivered' }), 'undelivered'],
    ['twilio: no id', configs.twilio, error(201, { status: 'queued' }), 'no message id'],
    ['messagebird: 400', configs.messagebird, error(400, messagebirdErrors), 'no (correct) recipients found'],
    ['messagebird: 422', configs.messagebird, error(422, messagebirdErrors), 'no (correct) recipients found'],
    [
      'messagebird: no recipient',
      configs.messagebird,
      error(201, { id: 'mb1', recipients: { totalSentCount: 0 } }),
      'no recipient',
    ],
    ['messagebird: nothing in the body', configs.messagebird, error(201, {}), 'no recipient'],
    ['textlocal: wrong number', configs.textlocal, textlocalError(51, 'No valid numbers'), '51: No valid'],
    ['textlocal: template', configs.textlocal, textlocalError(80, 'Invalid template'), 'AUTH_SMS_TEMPLATE'],
    ['textlocal: nothing in the body', configs.textlocal, error(200, {}), '200'],
    [
      'vonage: refused with status 200',
      configs.vonage,
      error(200, { messages: [{ status: '3', 'error-text': 'Invalid to address' }] }),
      '3: Invalid to address',
    ],
  ])('a final refusal, %s', (_name, config, given, reason) => expectRefusal(config, given, reason, true))

  it.each<Row>([
    ['twilio: wrong credentials', configs.twilio, error(401, { code: 20003, message: 'Auth' }), '20003'],
    ['twilio: too fast', configs.twilio, error(429, { code: 20429, message: 'Too Many' }), '20429'],
    ['twilio: out of order', configs.twilio, error(503, { code: 20503, message: 'Down' }), '20503'],
    ['messagebird: 401', configs.messagebird, error(401, messagebirdErrors), '401'],
    ['messagebird: 403', configs.messagebird, error(403, messagebirdErrors), '403'],
    [
      'textlocal: credentials',
      configs.textlocal,
      textlocalError(3, 'Invalid login details'),
      '3: Invalid login',
    ],
    [
      'vonage: credentials',
      configs.vonage,
      error(200, { messages: [{ status: '4', 'error-text': 'Bad Credentials' }] }),
      '4: Bad Credentials',
    ],
    ['vonage: no messages', configs.vonage, error(200, { messages: [] }), 'no messages'],
    ...Object.values(configs).flatMap<Row>((config) => [
      [
        `${config.provider}: a page instead of JSON`,
        config,
        { status: 502, body: '<html>' },
        'without a JSON object',
      ],
      [`${config.provider}: JSON null`, config, { status: 200, body: 'null' }, 'without a JSON object'],
      [`${config.provider}: a broken connection`, config, 'break', 'the exchange failed'],
      [`${config.provider}: silence`, config, 'hang', 'no complete response in time'],
    ]),
  ])('a failure that may pass, %s', (_name, config, given, reason) =>
    expectRefusal(config, given, reason, false),
  )

  it('says whether a gateway is configured', async () => {
    expect([sender(configs.twilio).isReady, sender(undefined).isReady]).toEqual([true, false])
    await expect(sender(undefined).send(PHONE, CODE, 'sms')).rejects.toThrow('no SMS gateway is configured')
  })
})

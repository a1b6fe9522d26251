import { createServer } from 'node:http'
import { listenLocally } from '@signet/testkit'
import type { SmsProvider } from '../../src/sms/sms-sender.js'
import { startServer, type TestServer } from './server.js'

type Refusal = boolean | 'silently' | 'slowly' | 'down'
export type Sms = { to: string; text: string; channel: string }

/** A local server that speaks the API of a gateway and keeps the messages that it accepts. */
export type SmsGateway = {
  /** Settings that make the service use it. */
  readonly env: Record<string, string>
  readonly urls: Record<SmsProvider, string>
  readonly messages: Sms[]
  /**
   * Sets how messages are answered: `true` refuses them as the gateway does, `false` accepts them, `silently` never answers, `slowly`
   * accepts them after 1.5 s, and `down` breaks off the connection.
   */
  refuse(how: Refusal): void
  /** The digits of the last message to this phone. */
  codeFor(phone: string): string
  close(): Promise<void>
}

type Api = {
  path: string
  env: Record<string, string>
  /** Reads a message from the form that the service posts. */
  read: (form: URLSearchParams) => Sms
  taken: { status: number; body: object }
  refused: { status: number; body: object }
}

const field = (form: URLSearchParams, name: string) => form.get(name) ?? ''

export const gatewayApis: Readonly<Record<SmsProvider, Api>> = {
  twilio: {
    path: '/2010-04-01/Accounts/AC1/Messages.json',
    env: { TWILIO_ACCOUNT_SID: 'AC1', TWILIO_AUTH_TOKEN: 'the-secret', TWILIO_MESSAGE_SERVICE_SID: 'MG1' },
    read: (form) => ({ to: field(form, 'To'), text: field(form, 'Body'), channel: field(form, 'Channel') }),
    taken: { status: 201, body: { sid: 'SM1', status: 'queued' } },
    refused: { status: 400, body: { code: 21211, message: 'Invalid number', status: 400 } },
  },
  messagebird: {
    path: '/messages',
    env: { MESSAGEBIRD_ACCESS_KEY: 'the-secret', MESSAGEBIRD_ORIGINATOR: 'Signet' },
    read: (form) => ({
      to: field(form, 'recipients'),
      text: field(form, 'body'),
      channel: field(form, 'type'),
    }),
    taken: { status: 201, body: { id: 'mb1', recipients: { totalSentCount: 1 } } },
    refused: { status: 422, body: { errors: [{ code: 9, description: 'no (correct) recipients found' }] } },
  },
  textlocal: {
    path: '/send',
    env: { TEXTLOCAL_API_KEY: 'the-secret', TEXTLOCAL_SENDER: 'SIGNET' },
    read: (form) => ({ to: field(form, 'numbers'), text: field(form, 'message'), channel: 'sms' }),
    taken: { status: 200, body: { status: 'success', messages: [{ id: 'tl1' }] } },
    refused: { status: 200, body: { status: 'failure', errors: [{ code: 4, message: 'No recipients' }] } },
  },
  vonage: {
    path: '/sms/json',
    env: { VONAGE_API_KEY: 'key', VONAGE_API_SECRET: 'the-secret', VONAGE_FROM: 'Signet' },
    read: (form) => ({ to: field(form, 'to'), text: field(form, 'text'), channel: 'sms' }),
    taken: { status: 200, body: { messages: [{ status: '0', 'message-id': 'vo1' }] } },
    refused: { status: 200, body: { messages: [{ status: '3', 'error-text': 'Invalid to address' }] } },
  },
}

/** Finds a code only where it stands alone, because its digits may also occur by chance inside ids, times and numbers. */
export const standingAlone = (code: string) => new RegExp(`(?<![\\w.-])${code}(?![\\w-])`)

/** Starts a service together with its own gateway; closing the service closes the gateway, too. */
export async function startSmsServer(
  env: Record<string, string> = {},
  start: typeof startServer = startServer,
): Promise<{ server: TestServer; gateway: SmsGateway }> {
  const gateway = await startSmsGateway()
  const server = await start({ ...gateway.env, ...env }, { smsUrls: gateway.urls })
  const close = async () => {
    await server.close()
    await gateway.close()
  }
  return { gateway, server: { ...server, close } }
}

export async function startSmsGateway(provider: SmsProvider = 'twilio'): Promise<SmsGateway> {
  const api = gatewayApis[provider]
  const messages: Sms[] = []
  let isRefusing: Refusal = false
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', (chunk: Buffer) => (body += chunk.toString()))
    req.on('end', () => {
      if (`${req.method} ${req.url}` !== `POST ${api.path}`) return res.writeHead(404).end('no such call')
      if (isRefusing === 'silently') return res
      if (isRefusing === 'down') return res.destroy()
      const answer = isRefusing === true ? api.refused : api.taken
      if (answer === api.taken) messages.push(api.read(new URLSearchParams(body)))
      const say = () => res.writeHead(answer.status).end(JSON.stringify(answer.body))
      return isRefusing === 'slowly' ? setTimeout(say, 1500).unref() : say()
    })
  })
  const { origin: url, close } = await listenLocally(server)
  return {
    env: {
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMS_PROVIDER: provider,
      ...Object.fromEntries(Object.entries(api.env).map(([name, value]) => [`AUTH_SMS_${name}`, value])),
      AUTH_ALLOW_PRIVATE_PROVIDER_URLS: 'true',
    },
    urls: { twilio: url, messagebird: url, textlocal: url, vonage: url },
    messages,
    refuse: (value) => (isRefusing = value),
    codeFor(phone) {
      const sms = messages.findLast(({ to }) => to.endsWith(phone))
      return /\d{6,10}/.exec(sms?.text ?? '')?.[0] ?? ''
    },
    close,
  }
}

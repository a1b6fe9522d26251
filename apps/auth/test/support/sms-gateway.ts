import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { type SmsProvider } from '../../src/sms/sms-sender.js'

export type Sms = { to: string; text: string; channel: string }

/** A local server that speaks twilio's API and keeps what it was given. */
export type SmsGateway = {
  /** Settings that make the service use it. */
  readonly env: Record<string, string>
  readonly urls: Record<SmsProvider, string>
  readonly messages: Sms[]
  /** Refuse messages from now on, or take them again. */
  refuse(refused: boolean): void
  /** The digits of the last message to this phone. */
  codeFor(phone: string): string
  close(): void
}

export async function startSmsGateway(): Promise<SmsGateway> {
  const messages: Sms[] = []
  let refused = false
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', (chunk: Buffer) => (body += chunk.toString()))
    req.on('end', () => {
      if (refused) return res.writeHead(400).end('{"code":21211,"message":"Invalid number","status":400}')
      const form = new URLSearchParams(body)
      const [to = '', text = '', channel = ''] = ['To', 'Body', 'Channel'].map((name) => form.get(name) ?? '')
      messages.push({ to, text, channel })
      return res.writeHead(201).end(JSON.stringify({ sid: `SM${messages.length}`, status: 'queued' }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    env: {
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMS_PROVIDER: 'twilio',
      AUTH_SMS_TWILIO_ACCOUNT_SID: 'AC1',
      AUTH_SMS_TWILIO_AUTH_TOKEN: 'token',
      AUTH_SMS_TWILIO_MESSAGE_SERVICE_SID: 'MG1',
      AUTH_ALLOW_PRIVATE_PROVIDER_URLS: 'true',
    },
    urls: { twilio: url, messagebird: url, textlocal: url, vonage: url },
    messages,
    refuse: (value) => (refused = value),
    codeFor(phone) {
      const sms = messages.findLast(({ to }) => to.endsWith(phone))
      return /\d{6,10}/.exec(sms?.text ?? '')?.[0] ?? ''
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

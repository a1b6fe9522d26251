import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  connectionOptions,
  MailRefusedError,
  MailUnansweredError,
  openSmtpTransport,
  type OutgoingMail,
  type SmtpConfig,
} from './index.js'

const closes: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close()
})

type Given = Partial<SmtpConfig> & { connections?: number }
type Answers = Partial<Record<'MAIL' | 'RCPT' | 'end of DATA', (socket: Socket) => void>>

/** A mail server that accepts everything, except where the test supplies the answer. */
async function aMailServer(answers: Answers = {}) {
  const emails: string[] = []
  const commands: string[] = []
  const connections: Socket[] = []
  const server = createServer((socket) => {
    connections.push(socket)
    let data: string[] | undefined
    socket.on('error', () => undefined).write('220 ready\r\n')
    createInterface(socket).on('line', (line) => {
      const reply = (name: keyof Answers) => (answers[name] ?? (() => socket.write('250 ok\r\n')))(socket)
      const command = line.slice(0, 4).toUpperCase()
      if (!data) commands.push(line)
      if (data && line !== '.') data.push(line)
      else if (data) {
        emails.push(data.join('\n'))
        data = undefined
        reply('end of DATA')
      } else if (command === 'DATA') {
        data = []
        socket.write('354 go on\r\n')
      } else if (command === 'EHLO') socket.write('250-here\r\n250 AUTH PLAIN\r\n')
      else if (command === 'AUTH') socket.write('235 welcome\r\n')
      else if (command === 'STAR') socket.write('502 what?\r\n')
      else if (command === 'MAIL' || command === 'RCPT') reply(command)
      else socket.write('250 ok\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closes.push(
    () => server.close(),
    () => connections.forEach((socket) => socket.destroy()),
  )
  const { port } = server.address() as AddressInfo
  return { port, emails, commands, connections }
}

function aTransport({ port }: { port: number }, { connections = 1, ...given }: Given = {}) {
  const smtp = { host: '127.0.0.1', port, adminEmail: 'no-reply@example.com', ...given }
  const transport = openSmtpTransport(smtp, { connections })
  closes.push(() => transport.close())
  return transport
}

const aMail = (id: string): OutgoingMail => ({ id, to: 'ann@example.com', subject: 'Hi', html: '<p>Hi</p>' })
const nobody = () => new AbortController().signal
const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise(setImmediate)
}
const failureOf = (sent: Promise<void>) =>
  sent.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('the answer to a whole email', () => {
  it('is awaited as long as the sender likes: nothing else ends the connection', async () => {
    let answer = () => {}
    const server = await aMailServer({
      'end of DATA': (socket) => (answer = () => void socket.write('250 taken\r\n')),
    })
    const clients: Socket[] = []
    const onSocket = (message: unknown) => void clients.push((message as { socket: Socket }).socket)
    subscribe('net.client.socket', onSocket)
    closes.push(() => unsubscribe('net.client.socket', onSocket))
    const sent = aTransport(server).send(aMail('a'), nobody())
    await until(() => server.emails.length === 1)
    // The limit that RFC 5321 section 4.5.3.2.6 asks for, in milliseconds.
    for (const client of clients) expect(client.timeout).toBeGreaterThanOrEqual(600_000)
    answer()
    await sent
    expect([server.emails.length, clients.length]).toEqual([1, 1])
  })

  it.each<[string, Answers]>([
    ['the sender gives up', {}],
    ['the connection ends', { 'end of DATA': (socket) => socket.destroy() }],
    ['the server ends it', { 'end of DATA': (socket) => socket.end() }],
  ])('is unknown when %s first', async (_, answers) => {
    const server = await aMailServer({ 'end of DATA': () => undefined, ...answers })
    const given = new AbortController()
    const failure = failureOf(aTransport(server).send(aMail('a'), given.signal))
    await until(() => server.emails.length === 1)
    if (!('end of DATA' in answers)) given.abort()
    expect(await failure).toBeInstanceOf(MailUnansweredError)
    await until(() => server.connections.every(({ destroyed }) => destroyed))
    expect(server.emails).toHaveLength(1)
  })

  it.each([451, 554])('is known when it is %i', async (code) => {
    const server = await aMailServer({ 'end of DATA': (socket) => socket.write(`${code} no\r\n`) })
    const failure = await failureOf(aTransport(server).send(aMail('a'), nobody()))
    expect(failure).not.toBeInstanceOf(MailUnansweredError)
    expect(failure instanceof MailRefusedError).toBe(code === 554)
  })
})

describe('an email of which the server has nothing', () => {
  it.each(['MAIL', 'RCPT'] as const)('was not delivered when the sender gives up at %s', async (command) => {
    let reached = false
    const server = await aMailServer({ [command]: () => (reached = true) })
    const given = new AbortController()
    const failure = failureOf(aTransport(server).send(aMail('a'), given.signal))
    await until(() => reached)
    given.abort()
    expect(await failure).not.toBeInstanceOf(MailUnansweredError)
    expect(server.emails).toEqual([])
  })

  it('is not sent later when its sender gave up while it waited for a connection', async () => {
    let answer = () => {}
    const server = await aMailServer({
      'end of DATA': (socket) => (answer = () => void socket.write('250 taken\r\n')),
    })
    const transport = aTransport(server)
    const first = transport.send(aMail('first'), nobody())
    await until(() => server.emails.length === 1)
    const given = new AbortController()
    const second = failureOf(transport.send(aMail('second'), given.signal))
    given.abort()
    expect(await second).toBeInstanceOf(Error)
    const third = transport.send(aMail('third'), nobody())
    answer()
    await first
    await until(() => server.emails.length === 2)
    answer()
    await third
    const ids = server.emails.map((email) => /^message-id: *<(\w+)@/im.exec(email)?.[1])
    expect(ids).toEqual(['first', 'third'])
  })
})

it('closes connections even in the middle of an email', async () => {
  const server = await aMailServer({ 'end of DATA': () => undefined })
  const transport = aTransport(server)
  const failure = failureOf(transport.send(aMail('a'), nobody()))
  await until(() => server.emails.length === 1)
  transport.close()
  expect(await failure).toBeInstanceOf(MailUnansweredError)
})

describe('a server that offers no encryption', () => {
  const credentials = { user: 'relay', pass: 'a secret' }
  // Reaches this machine, but is not one of the names that count as this machine.
  const elsewhere = '0.0.0.0'

  it('gets neither a password nor an email, because somebody on the way may have taken the offer out', async () => {
    const server = await aMailServer()
    const transport = aTransport(server, { host: elsewhere, ...credentials })
    const failure = await failureOf(transport.send(aMail('a'), nobody()))
    expect(failure).toMatchObject({ code: 'ETLS' })
    expect(failure).not.toBeInstanceOf(MailRefusedError)
    expect(server.commands.map((line) => line.split(' ', 1)[0])).toEqual(['EHLO', 'STARTTLS'])
    expect(server.emails).toEqual([])
  })

  it.each<[string, Given]>([
    ['on this machine', credentials],
    ['that asks for no password', { host: elsewhere }],
  ])('gets emails %s', async (_, given) => {
    const server = await aMailServer()
    await aTransport(server, given).send(aMail('a'), nobody())
    expect(server.emails).toHaveLength(1)
    expect(server.commands.some((line) => line.startsWith('AUTH'))).toBe('user' in given)
  })

  it.each([
    ['smtp.example.com', true],
    ['10.0.0.7', true],
    ['127.0.0.1.example.com', true],
    ['localhost.example.com', true],
    ['localhost', false],
    ['LOCALHOST', false],
    ['127.8.0.1', false],
    ['::1', false],
  ])('at %s must encrypt before it gets a password: %s', (host, must) => {
    const smtp = { host, port: 587, adminEmail: 'a@example.com', ...credentials }
    expect(connectionOptions(smtp).requireTLS).toBe(must)
  })
})

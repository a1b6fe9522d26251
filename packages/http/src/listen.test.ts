import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { listen, type Listener } from './index.js'

describe('listen', () => {
  let listener: Listener | undefined
  afterEach(() => listener?.close(0))

  it('lets a request in flight end before it closes', async () => {
    let release = () => {}
    const arrived = new Promise<void>((seen) => {
      void listen(
        (_req, res) => {
          release = () => res.end('done')
          seen()
        },
        { port: 0, host: '127.0.0.1' },
      ).then((started) => (listener = started))
    })
    while (!listener) await new Promise(setImmediate)
    const answer = fetch(`http://127.0.0.1:${listener.port}`)
    await arrived
    // Far beyond the time limit of this test: what is waited for is the answer and nothing else.
    const closed = listener.close(600_000)
    release()
    expect(await (await answer).text()).toBe('done')
    await closed
  })

  it('breaks connections that outlive the grace time', async () => {
    listener = await listen(() => undefined, { port: 0, host: '127.0.0.1' })
    const socket = connect(listener.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'connect')
    const ended = once(socket, 'close')
    await listener.close(50)
    await ended
  })

  const stalling = { port: 0, host: '127.0.0.1', stallTimeoutMs: 20 }

  it('breaks a connection whose client stops reading an answer', async () => {
    let ended = () => {}
    const closed = new Promise<void>((resolve) => (ended = resolve))
    // More than the buffers of the two sockets hold.
    listener = await listen((_req, res) => void res.on('close', ended).end(Buffer.alloc(64 << 20)), stalling)
    const socket = connect(listener.port, '127.0.0.1').pause()
    socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await closed
    socket.destroy()
  })

  it('leaves a connection alone whose answer takes longer than that to make', async () => {
    listener = await listen(
      (_req, res) => void res.once('timeout', () => setImmediate(() => res.end('done'))),
      stalling,
    )
    expect(await (await fetch(`http://127.0.0.1:${listener.port}`)).text()).toBe('done')
  })

  it('still closes connections that nobody uses', async () => {
    listener = await listen((req, res) => {
      ;(req.socket as unknown as { server: Server }).server.keepAliveTimeout = 20
      res.end('done')
    }, stalling)
    const socket = connect(listener.port, '127.0.0.1')
    socket.resume().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'close')
  })
})

import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
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
    // Far beyond the time limit of this test, so only the answer can end the wait.
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

  it('leaves a connection alone whose client reads slowly, and starts counting again once all is read', async () => {
    const half = 32 << 20
    let serve = (_socket: Socket) => {}
    const served = new Promise<Socket>((resolve) => (serve = resolve))
    listener = await listen((_req, res) => void serve(res.end(Buffer.alloc(2 * half)).req.socket), {
      ...stalling,
      // Never runs out by itself: the test emits the timeout.
      stallTimeoutMs: 600_000,
    })
    const client = connect(listener.port, '127.0.0.1').pause()
    client.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const socket = await served
    const { server } = socket as unknown as { server: Server }
    const runOut = () => void server.emit('timeout', socket)
    runOut()
    runOut()
    expect(socket.destroyed).toBe(false)
    let received = 0
    await new Promise<void>((resolve) => {
      client.on('data', ({ length }: Buffer) => {
        received += length
        if (received < half) return
        client.pause()
        resolve()
      })
      client.resume()
    })
    runOut()
    runOut()
    expect(socket.destroyed).toBe(false)
    while (!socket.destroyed) {
      runOut()
      await new Promise(setImmediate)
    }
    client.destroy()
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
      ;(req.socket as unknown as { server: Server }).server.keepAliveTimeout = 10
      res.end('done')
    }, stalling)
    const socket = connect(listener.port, '127.0.0.1')
    socket.resume().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'close')
  })
})

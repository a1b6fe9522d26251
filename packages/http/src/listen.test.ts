import { once } from 'node:events'
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
})

import { createServer } from 'node:http'
import request from 'supertest'
import { describe, expect, it } from '@jest/globals'
import { body, describeHandler, headers, options } from '../test/handler-conformance.js'
import { webhookHandler, type NodeHandlerOptions } from './node.js'

function serverOf(given: NodeHandlerOptions, onEvent: Parameters<typeof webhookHandler>[1]) {
  const handler = webhookHandler(given, onEvent)
  const server = createServer((req, res) => void handler(req, res))
  return { post: (text = body) => request(server).post('/hook').set(headers).send(text) }
}

describeHandler('node:http', (given, onEvent) =>
  serverOf({ ...given, onError: () => {} }, async (event, _req, res) => {
    if ((await onEvent(event)) === 'answered') res.writeHead(202).end(JSON.stringify({ id: event.id }))
  }),
)

describe('the handler for node:http', () => {
  it('answers 500 without the reason when the function fails, and reports it', async () => {
    const errors: unknown[] = []
    const failure = new Error('queue is down')
    const { post } = serverOf({ ...options, onError: (error) => errors.push(error) }, () => {
      throw failure
    })
    await post().expect(500, { error: 'internal' })
    expect(errors).toEqual([failure])
  })

  it('breaks the connection when the function fails in the middle of its answer', async () => {
    const { post } = serverOf({ ...options, onError: () => {} }, (_event, _req, res) => {
      res.writeHead(200).write('half')
      throw new Error('queue is down')
    })
    await expect(post()).rejects.toThrow(/aborted|hang up/)
  })
})

import { afterEach, describe, expect, it } from '@jest/globals'
import {
  deduplicate,
  EventInProgressError,
  InvalidSecretError,
  MemoryEventStore,
  MissingHeaderError,
  sign,
  type WebhookEvent,
} from '../src/index.js'
import type { HandlerOptions } from '../src/express.js'
import { signedAt, vectors } from './vectors.js'

const [, vector] = vectors.accepted as [unknown, (typeof vectors.accepted)[0]]
/** A body whose signature is in `headers`. */
export const { body } = vector
export const options = { secret: vectors.secret, now: signedAt }
export const headers = { ...sign(body, vectors.secret, options) }
const EVENT_ID = 'evt_5d41402abc4b2a76b9719d911017c592'

/** `answered` lets the server's own code answer 202 with `{id}`. */
export type OnEvent = (event: WebhookEvent) => 'answered' | void | Promise<'answered' | void>
export type Answer = { status: number; text: string }
export type Running = {
  post: (text: string, headers: Record<string, string>) => Promise<Answer>
  close?: () => Promise<unknown>
}

/** Tests what every handler promises on any server. `start` throws what the handler throws before the first request. */
export function describeHandler(
  name: string,
  start: (options: HandlerOptions, onEvent: OnEvent) => Running | Promise<Running>,
): void {
  describe(`the handler for ${name}`, () => {
    const running: Running[] = []
    afterEach(async () => {
      for (const one of running.splice(0)) await one.close?.()
    })

    async function receiver(extra: Partial<HandlerOptions> = {}, onEvent: OnEvent = () => {}) {
      const events: WebhookEvent[] = []
      const server = await start({ ...options, ...extra }, async (event) => {
        const answered = await onEvent(event)
        events.push(event)
        return answered
      })
      running.push(server)
      const post = async (sent = body): Promise<Answer> => {
        const { status, text } = await server.post(sent, headers)
        return { status, text }
      }
      return { post, events }
    }

    it('hands over the verified event and answers 204', async () => {
      const { post, events } = await receiver()
      expect(await post()).toEqual({ status: 204, text: '' })
      expect(events).toEqual([JSON.parse(body)])
    })

    it.each(['{}', ''])(
      'answers 400 with the reason for the forged body %j, and reports it',
      async (text) => {
        const refused: string[] = []
        const { post, events } = await receiver({ onRefusal: ({ code }) => refused.push(code) })
        expect(await post(text)).toEqual({ status: 400, text: '{"error":"signature_mismatch"}' })
        expect({ events, refused }).toEqual({ events: [], refused: ['signature_mismatch'] })
      },
    )

    it.each([
      ['above the limit', body],
      ['that is far over the limit and still being sent', 'x'.repeat(5_000_000)],
    ])('answers 413 to a body %s', async (_, text) => {
      const { post, events } = await receiver({ maxBytes: 100 })
      expect((await post(text)).status).toBe(413)
      expect(events).toEqual([])
    })

    it.each([
      ['any failure', new Error('queue is down')],
      ['one that is called like a refusal', new MissingHeaderError('X-Other')],
    ])(
      'takes %s of the function for a failure of the server, so that the delivery is tried again',
      async (_, failure) => {
        const { post } = await receiver({}, () => Promise.reject(failure))
        expect((await post()).status).toBe(500)
      },
    )

    it('answers 409 to a repeat of an event that is being processed', async () => {
      const { post } = await receiver({}, ({ id }) => Promise.reject(new EventInProgressError(id)))
      expect(await post()).toEqual({ status: 409, text: '{"error":"in_progress"}' })
    })

    it('answers 204 to a repeat of an event that was processed', async () => {
      const processed: string[] = []
      const once = deduplicate({ store: new MemoryEventStore() }, ({ id }) => void processed.push(id))
      const { post } = await receiver({}, (event) => once(event))
      expect([await post(), await post()].map(({ status }) => status)).toEqual([204, 204])
      expect(processed).toEqual([EVENT_ID])
    })

    it('leaves an answer of the function alone', async () => {
      const { post } = await receiver({}, () => 'answered')
      expect(await post()).toEqual({ status: 202, text: JSON.stringify({ id: EVENT_ID }) })
    })

    it.each([
      ['an empty secret', ''],
      ['no secret', []],
    ])('does not start with %s', async (_, secret) => {
      await expect((async () => start({ secret }, () => {}))()).rejects.toThrow(InvalidSecretError)
    })
  })
}

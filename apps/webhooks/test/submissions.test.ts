import { once } from 'node:events'
import { expect, it } from '@jest/globals'
import type { Db } from '@signet/db'
import { SubmissionService } from '../src/forms/submission-service.js'
import { useOAuth } from './support/use-oauth.js'

const { harness } = useOAuth()

it('a press that waits does what an earlier press could not', async () => {
  const steps = new EventTarget()
  const step = (name: string) => steps.dispatchEvent(new Event(name))
  const watched = {
    query(text: string, values: unknown[]) {
      if (text.includes('select key_id')) step('waits')
      return harness.db.query(text, values)
    },
  } as unknown as Db
  const submissions = new SubmissionService({ db: watched, secretBox: harness.ctx.config.secretBox })
  const session = await harness.ctx.sessions.findOrCreate(undefined)
  const form = { form: 'form', path: '/path', fields: {} }
  const [begins, waits] = [once(steps, 'begins'), once(steps, 'waits')]
  const first = submissions.once(session, form, async () => {
    step('begins')
    await waits
    throw new Error('too many requests')
  })
  await begins
  const second = submissions.once(session, form, () => Promise.resolve({ to: '/done' }))
  await expect(first).rejects.toThrow('too many requests')
  expect(await second).toEqual({ to: '/done' })
})

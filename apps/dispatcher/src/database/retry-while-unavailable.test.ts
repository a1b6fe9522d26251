import { expect, it } from '@jest/globals'
import { retryWhileUnavailable } from './retry-while-unavailable.js'

it('lets any number of statements wait for the database, with no warning of the runtime', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => warnings.push(warning)
  process.on('warning', onWarning)
  const { signal: stop } = new AbortController()
  let isAway = true
  const statement = () =>
    isAway ? Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })) : Promise.resolve()
  const waiting = Array.from({ length: 20 }, () => retryWhileUnavailable(statement, { stop }))
  await new Promise((resolve) => setImmediate(resolve))
  isAway = false
  await Promise.all(waiting)
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
})

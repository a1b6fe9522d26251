import { describe, expect, it } from '@jest/globals'
import { useApi } from './support/api.js'

const api = useApi()

describe.each(['public', 'internal'] as const)('a body to the %s API', (name) => {
  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'compressed with %s is refused, and the next request is answered',
    async (encoding) => {
      const { token } = await api.anAccount()
      const ask = async (headers: Record<string, string>) => {
        const call = { raw: '{}', headers }
        const answer =
          name === 'public'
            ? await api.call('POST', '/v1/webhooks', { ...call, token })
            : await api.internal('POST', '/internal/v1/summary-ready', call)
        return [answer.status, answer.text.includes('encoding')]
      }
      expect(await ask({ 'content-encoding': encoding, connection: 'close' })).toEqual([400, true])
      expect(await ask({})).toEqual([400, false])
    },
  )
})

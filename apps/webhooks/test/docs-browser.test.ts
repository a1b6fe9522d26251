import { expect, it } from '@jest/globals'
import { describeDocsPage } from '@signet/testkit/docs-page-tests'
import { aToken } from './support/access-token.js'
import { startHarness } from './support/harness.js'

describeDocsPage(
  {
    of: 'the webhooks service',
    start: () => startHarness({ env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' } }),
    guarded: {
      id: 'listWebhooks',
      name: 'List webhooks',
      path: '/v1/webhooks',
      withoutToken: 'unauthorized',
      withWrongToken: { status: '401 Unauthorized', text: 'unauthorized' },
    },
  },
  ({ service, open }) => {
    it('sends a request with the token that was typed, and shows the answer', async () => {
      const token = await aToken(service().db, service().identity.addUser().id)
      const reader = await open()
      const body = JSON.stringify({ url: 'https://127.0.0.1/hooks', events: ['summary.completed'] })
      const created = await reader.tryIt('createWebhook', { token, body })
      expect(created.status).toBe('200 OK')
      const { endpoint_id } = JSON.parse(created.text ?? '') as { endpoint_id: string }
      const found = await reader.tryIt('getWebhook', { values: { endpoint_id } })
      expect(JSON.parse(found.text ?? '')).toMatchObject({
        item: { id: endpoint_id, url: 'https://127.0.0.1/hooks' },
      })
      expect(await reader.traces()).not.toContain(token)
      expect(reader.foreign).toEqual([])
    })

    it('sends the body of an OAuth request as a form', async () => {
      const reader = await open()
      const given = { grant_type: 'authorization_code', client_id: 'svcl_nobody', code: 'none' }
      const answer = await reader.tryIt('createOAuthToken', { body: JSON.stringify(given) })
      expect(answer.text).toContain('"error": "invalid_client"')
      expect(await reader.tryIt('createOAuthToken', { body: 'grant_type=none' })).toMatchObject({
        status: expect.stringContaining('the body is not JSON'),
        text: '',
      })
    })
  },
)

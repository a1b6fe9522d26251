import { expect, it } from '@jest/globals'
import { aNotice, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'
import { SERVICE_TOKEN } from './support/harness.js'

const api = useApi()

it('a full run logs no token, secret, query of a url, transcript or summary, at the finest level', async () => {
  const { accountId, token } = await api.anAccount()
  const url = 'https://example.com/hook?key=q7ry-s3cret'
  const { id, secret } = await createEndpoint(api, token, { url, events: ['summary.completed'] })
  await api.call('GET', `/v1/webhooks?access_token=${token}`, { token })
  await api.call('PATCH', `/v1/webhooks/${id}`, { token, body: { url: `${url}2`, events: [] } })
  await api.call('PATCH', `/v1/webhooks/${id}`, { token, body: { url: 'https://10.0.0.1/?key=q7ry-s3cret' } })
  await api.call('GET', `/v1/webhooks/${id}`, { token })
  await api.call('POST', `/v1/webhooks/${id}/enable`, { token })
  await api.call('POST', `/v1/webhooks/${id}/test`, { token })
  await api.call('GET', `/v1/webhooks/${id}/deliveries?page=q7ry-s3cret`, { token })
  await api.call('GET', '/v1/webhook-events/samples', { token: `${token}x` })
  const words = {
    title: 'w0rds-title',
    label: 'w0rds-label',
    content: '<p>w0rds-content</p>',
    text: 'w0rds-text',
  }
  const notice = aNotice(accountId, {
    recording: { title: words.title },
    transcript: { text: words.text, segments: [{ speaker: 'w0rds', start: 0, end: 1, text: words.text }] },
    summaries: [{ label: words.label, content: words.content, format: 'html' }],
  })
  await api.internal('POST', '/internal/v1/summary-ready', { body: notice })
  await api.internal('POST', '/internal/v1/summary-ready', { body: notice })
  await api.internal('POST', '/internal/v1/summary-ready', { body: { ...notice, summaries: null } })
  await api.internal('PUT', `/internal/v1/accounts/${accountId}/recordings/r`, {
    body: { title: words.title, transcript: {} },
  })
  await api.internal('DELETE', `/internal/v1/accounts/${accountId}/recordings/r`, {
    token: `${SERVICE_TOKEN}x`,
  })
  await api.call('DELETE', `/v1/webhooks/${id}`, { token })
  await api.internal('POST', `/internal/v1/accounts/${accountId}/revoke`, { body: { reason: 'banned' } })
  await api.internal('DELETE', `/internal/v1/accounts/${accountId}`)

  const log = JSON.stringify(api.lines)
  expect(api.lines.length).toBeGreaterThan(15)
  for (const hidden of [token, secret, SERVICE_TOKEN, 's3cret', 'w0rds', 'example.com']) {
    expect(log.includes(hidden) ? hidden : null).toBeNull()
  }
  expect(log).toContain(accountId)
  expect(log).toContain('endpoint enabled')
})

import { expect, it } from '@jest/globals'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

it.each(['/oauth/token', '/oauth/revoke'])('%s refuses a form that is not UTF-8', async (path) => {
  const { status, body } = await oauth.json(path, {
    method: 'POST',
    headers: FORM,
    body: 'token=%ff&grant_type=refresh_token&client_id=svcl_cli',
  })
  expect([status, body]).toEqual([
    400,
    { error: 'invalid_request', error_description: 'The body is not valid UTF-8' },
  ])
})

it.each(['/logout', '/decision'])('%s refuses a form that is not UTF-8', async (path) => {
  const { status, body } = await oauth.json(`/oauth/authorize${path}`, {
    method: 'POST',
    headers: { ...FORM, accept: 'application/json' },
    body: 'txn=%C3%28',
  })
  expect([status, body['error_description']]).toEqual([400, 'The body is not valid UTF-8'])
})

it('the authorization page refuses a query that is not UTF-8, and redirects nobody', async () => {
  const client = await oauth.client()
  const answer = await fetch(`${oauth.authorizeUrl(client.client_id, {})}&state=%ff`, {
    redirect: 'manual',
  })
  expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
  expect(await answer.text()).toContain('The query of the URL is not percent-encoded UTF-8')
})

it.each(['/v1/webhooks?page=%ff', '/v1/webhook-events/samples?limit=%C3%28'])(
  '%s is 400 with a valid token, and 401 without',
  async (path) => {
    const { tokens } = await oauth.connect(harness.identity.addUser())
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    const { status, body } = await oauth.json(path, { headers })
    expect([status, body['error']]).toEqual([
      400,
      { code: 'bad_request', message: 'The query of the URL is not percent-encoded UTF-8' },
    ])
    expect((await oauth.json(path)).status).toBe(401)
  },
)

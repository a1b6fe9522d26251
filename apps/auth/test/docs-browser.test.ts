import { expect, it } from '@jest/globals'
import { describeDocsPage } from '@signet/testkit/docs-page-tests'
import { aUser } from './support/api.js'
import { startUi } from './ui/support.js'

describeDocsPage(
  {
    of: 'the identity server',
    start: async () => {
      const server = await startUi({ AUTH_MAILER_AUTOCONFIRM: 'true' })
      return { server, base: server.url, close: () => server.close() }
    },
    guarded: {
      id: 'getUser',
      name: 'The signed-in user',
      path: '/user',
      withoutToken: 'no_authorization',
      withWrongToken: { status: '403 Forbidden', text: 'bad_jwt' },
    },
  },
  ({ service, open }) => {
    it('sends a request with the token that was typed, and shows the answer', async () => {
      const { access_token: token, email } = await aUser(service().server)
      const reader = await open()
      const answer = await reader.tryIt('getUser', { token })
      expect(answer.status).toBe('200 OK')
      expect(JSON.parse(answer.text ?? '')).toMatchObject({ email })
      expect(await reader.traces()).not.toContain(token)
      expect(reader.foreign).toEqual([])
    })

    it('sends a body and parameters of the query, as a reader changed them', async () => {
      const { email, password } = await aUser(service().server)
      const answer = await (
        await open()
      ).tryIt('createSession', {
        values: { grant_type: 'password' },
        body: JSON.stringify({ email, password }),
      })
      expect(answer.status).toBe('200 OK')
      expect(JSON.parse(answer.text ?? '')).toMatchObject({ user: { email } })
    })
  },
)

import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { providerEnv } from './support/fake-provider.js'
import { startServed, type ServedProcess } from './support/server.js'

const withoutUrl = providerEnv('keycloak', '')
delete withoutUrl['AUTH_EXTERNAL_KEYCLOAK_URL']

let server: ServedProcess
beforeAll(async () => {
  server = await startServed({
    ...providerEnv('figma', 'https://figma.example.com'),
    ...withoutUrl,
    AUTH_EXTERNAL_SLACK_ENABLED: 'true',
    AUTH_EXTERNAL_SLACK_CLIENT_ID: 'slack-client',
    AUTH_EXTERNAL_SPOTIFY_CLIENT_ID: 'of a provider that is off',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_SMS_PROVIDER: 'vonage',
    AUTH_SMS_VONAGE_API_KEY: 'vonage-key',
    OPERATOR_TOKEN: 'operator-token',
  })
})
afterAll(() => server.close())

it('what is switched on and cannot work is told at the start, by the names of the variables that are missing', async () => {
  await server.stop()
  const warnings = server.lines().filter(({ level }) => level === 'warning')
  expect(warnings).toEqual([
    expect.objectContaining({ variable: 'OPERATOR_TOKEN' }),
    expect.objectContaining({ provider: 'keycloak', missing: ['AUTH_EXTERNAL_KEYCLOAK_URL'] }),
    expect.objectContaining({
      provider: 'slack',
      missing: ['AUTH_EXTERNAL_SLACK_SECRET', 'AUTH_EXTERNAL_SLACK_REDIRECT_URI'],
    }),
    expect.objectContaining({ msg: expect.stringContaining('AUTH_SMS_PROVIDER') as unknown }),
  ])
  expect(JSON.stringify(server.lines())).not.toMatch(/slack-client|vonage-key|operator-token/)
})

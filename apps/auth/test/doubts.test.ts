import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startServed, type ServedProcess } from './support/server.js'

const aProvider = (name: string, redirectUri: string) => ({
  [`AUTH_EXTERNAL_${name}_ENABLED`]: 'true',
  [`AUTH_EXTERNAL_${name}_CLIENT_ID`]: 'client',
  [`AUTH_EXTERNAL_${name}_SECRET`]: 'provider-secret',
  [`AUTH_EXTERNAL_${name}_REDIRECT_URI`]: redirectUri,
})

let server: ServedProcess
beforeAll(async () => {
  server = await startServed({
    AUTH_EXTERNAL_SPOTIFY_CLIENT_ID: 'of a provider that is off',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_SMS_PROVIDER: 'vonage',
    AUTH_SMS_VONAGE_API_KEY: 'vonage-key',
    AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
    ...aProvider('GITHUB', 'https://auth.example.com:8443/callback'),
    ...aProvider('GITLAB', 'https://login.example.com/callback'),
    ...aProvider('SLACK', 'http://auth.example.com/callback'),
    OPERATOR_TOKEN: 'operator-token',
  })
})
afterAll(() => server.close())

it('settings that are probably mistakes are logged as warnings at start, by variable name', async () => {
  await server.stop()
  const warnings = server.lines().filter(({ level }) => level === 'warning')
  expect(warnings).toEqual([
    expect.objectContaining({ variable: 'OPERATOR_TOKEN' }),
    expect.objectContaining({ variable: 'AUTH_EXTERNAL_GITLAB_REDIRECT_URI' }),
    expect.objectContaining({ variable: 'AUTH_EXTERNAL_SLACK_REDIRECT_URI' }),
    expect.objectContaining({ msg: expect.stringContaining('AUTH_SMS_PROVIDER') as unknown }),
  ])
  expect(JSON.stringify(server.lines())).not.toMatch(/vonage-key|operator-token|provider-secret/)
})

it.each<Record<string, string>>([
  { AUTH_EXTERNAL_PHONE_ENABLED: 'true' },
  { AUTH_MFA_PHONE_ENROLL_ENABLED: 'true' },
])('codes by SMS that nothing can send are logged as a warning at start: %j', async (settings) => {
  const served = await startServed(settings)
  try {
    await served.stop()
    expect(served.lines().filter(({ level }) => level === 'warning')).toEqual([
      expect.objectContaining({ msg: expect.stringContaining('AUTH_SMS_PROVIDER') as unknown }),
    ])
  } finally {
    await served.close()
  }
})

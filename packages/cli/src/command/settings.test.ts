import { describe, expect, it } from '@jest/globals'
import { readSettings } from './settings.js'

describe('readSettings', () => {
  it('lets options win over variables', () => {
    const settings = readSettings(
      { url: 'https://a.example' },
      { SIGNET_URL: 'https://b.example', HOME: '/home/a' },
    )
    expect(settings.serviceUrl).toBe('https://a.example')
  })

  it.each([
    ['https://hooks.example.com/', 'https://hooks.example.com'],
    ['HTTPS://Hooks.example.com:443/base/', 'https://hooks.example.com/base'],
    ['http://localhost:8082', 'http://localhost:8082'],
    ['http://[::1]:8082/', 'http://[::1]:8082'],
  ])('takes %s as %s', (text, address) => {
    expect(readSettings({}, { SIGNET_URL: text }).serviceUrl).toBe(address)
  })

  it.each([
    'hooks.example.com',
    'ftp://hooks.example.com',
    'https://hooks.example.com/?a=1',
    'https://hooks.example.com/#a',
    'https://ana:secret@hooks.example.com',
    'http://hooks.example.com',
    'http://127.0.0.1.evil.example',
    'https:hooks.example.com',
    'https:///hooks.example.com',
    'https:\\\\hooks.example.com',
    'https://hooks.example.com\\@evil.example',
    'https://hooks.exa\tmple.com',
    'https://hooks.exa\u200bmple.com',
  ])('refuses the address %s', (text) => {
    expect(() => readSettings({}, { SIGNET_URL: text })).toThrow('SIGNET_URL')
  })

  it.each(['https://ana:hunter2@hooks.example.com', 'ana:hunter2@hooks.example.com'])(
    'does not quote the password of %s',
    (url) => {
      for (const read of [() => readSettings({ url }, {}), () => readSettings({}, { SIGNET_AUTH_URL: url })])
        expect(read).toThrow(/^(?!.*hunter2)/s)
    },
  )

  it('takes http for any host only with SIGNET_ALLOW_HTTP', () => {
    const env = { SIGNET_URL: 'http://webhooks:8082', SIGNET_ALLOW_HTTP: '1' }
    expect(readSettings({}, env).serviceUrl).toBe('http://webhooks:8082')
  })

  it.each([
    [{ XDG_CONFIG_HOME: '/x', HOME: '/home/a' }, 'linux', '/x/signet'],
    [{ XDG_CONFIG_HOME: 'relative', HOME: '/home/a' }, 'linux', '/home/a/.config/signet'],
    [{ HOME: '/home/a' }, 'darwin', '/home/a/.config/signet'],
    [{ APPDATA: '/appdata', HOME: '/home/a' }, 'win32', '/appdata/signet'],
  ] as const)('keeps its files, with %j on %s, in %s', (env, platform, folder) => {
    expect(readSettings({}, env, platform).configDir).toBe(folder)
  })

  it('refuses a token that no header can carry, without quoting it', () => {
    expect(() => readSettings({}, { SIGNET_TOKEN: 'svp_a\nb' })).toThrow(/^(?!.*svp_a)/s)
    expect(readSettings({}, { SIGNET_TOKEN: ' svp_a\n' }).token).toBe('svp_a')
  })

  it('knows three places for the token', () => {
    expect(readSettings({}, {}).store).toBe('auto')
    expect(() => readSettings({}, { SIGNET_CREDENTIAL_STORE: 'vault' })).toThrow('keychain or file')
  })
})

import { describe, expect, it } from '@jest/globals'
import {
  boolean,
  choice,
  duration,
  hostName,
  httpUrl,
  integer,
  list,
  parsed,
  parseDuration,
  text,
} from './kinds.js'
import { renderEnvExample, renderMarkdown } from './render.js'
import { ConfigError, defineSettings, loadConfig, type ConfigOf } from './settings.js'

const settings = defineSettings({
  port: integer({ env: ['APP_PORT', 'PORT'], fallback: 8080, min: 0, max: 65535, doc: 'Port to listen on.' }),
  databaseUrl: text({ env: 'DATABASE_URL', secret: true, doc: 'Postgres connection string.' }),
  verbose: boolean({ env: 'VERBOSE', fallback: false, doc: 'Say more.' }),
  level: choice({ env: 'LEVEL', choices: ['info', 'debug'], fallback: 'info', doc: 'Log level.' }),
  origins: list({ env: 'ORIGINS', fallback: [], doc: 'Origins.' }),
  baseUrl: httpUrl({ env: 'BASE_URL', optional: true, doc: 'Public URL.' }),
  timeout: duration({ env: 'TIMEOUT', fallback: 10_000, minMs: 1, doc: 'Time limit.' }),
})
const minimal = { DATABASE_URL: 'postgres://db' }

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig(settings, env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

describe('a secret with a line break, with which nobody could use it', () => {
  const [token, password] = [
    text({ env: 'TOKEN', secret: true, minBytes: 16, doc: '' }),
    parsed<string, { env: string; secret: true; doc: string }>({
      env: 'PASS',
      secret: true,
      kind: 'text',
      parse: (raw) => raw,
      doc: '',
    }),
  ]

  it.each(['0123456789abcdef\n', '0123456789abcdef\r\n', '01234567\n89abcdef'])('%j is refused', (value) => {
    for (const { parse } of [token, password]) {
      expect(() => parse(value)).toThrow('must not contain a line break')
      expect(parse('0123456789abcdef')).toBe('0123456789abcdef')
    }
  })

  it('is accepted where lines mean nothing, as in JSON', () => {
    const { parse } = parsed({ env: 'KEYS', secret: true, kind: 'JSON', parse: (raw) => raw, doc: '' })
    expect(parse('[\n]\n')).toBe('[\n]\n')
  })

  it('is accepted in a setting that holds no secret', () => {
    expect(text({ env: 'GREETING', doc: '' }).parse('a\nb')).toBe('a\nb')
  })
})

it('separates a list by commas alone, and refuses one that separates by lines', () => {
  const { parse } = list({ env: 'HEADERS', fallback: [], doc: '' })
  expect(parse('x-a,\n x-b,\n')).toEqual(['x-a', 'x-b'])
  expect(() => parse('x-a\nx-b\n')).toThrow('must be separated by commas, not by line breaks')
})

it.each([
  ['localhost', true],
  ['mail_1.internal', true],
  ['0.0.0.0', true],
  ['::', true],
  ['fe80::1%eth0', true],
  ['smtp.example.com:587', false],
  ['smtps://smtp.example.com', false],
  ['user@example.com', false],
  ['[::1]', false],
])('takes a host name or an IP address: %s, %p', (value, isTaken) => {
  const parse = () => hostName({ env: 'HOST', doc: 'Host.' }).parse(value)
  if (isTaken) expect(parse()).toBe(value)
  else expect(parse).toThrow('must be a host name or an IP address, without scheme and port')
})

describe('loadConfig', () => {
  it('fills defaults, takes the preferred name first and freezes the result', () => {
    const config = loadConfig(settings, {
      ...minimal,
      PORT: '1',
      APP_PORT: '2',
      TIMEOUT: '1m30s',
      ORIGINS: 'a, b,',
    })
    expect(config).toMatchObject({
      port: 2,
      verbose: false,
      level: 'info',
      origins: ['a', 'b'],
      timeout: 90_000,
    })
    expect(Object.isFrozen(config)).toBe(true)
  })

  it('reports every problem at once, by variable name and without values', () => {
    const problems = problemsOf({
      PORT: '30o2',
      VERBOSE: 'yes',
      LEVEL: 'loud',
      BASE_URL: 'ftp://s3cret',
      TIMEOUT: '-1s',
    })
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
      'PORT',
      'DATABASE_URL',
      'VERBOSE',
      'LEVEL',
      'BASE_URL',
      'TIMEOUT',
    ])
    expect(problems.join()).not.toContain('s3cret')
    expect(problems.join()).not.toContain('30o2')
  })

  it('treats an empty variable as unset', () => {
    expect(loadConfig(settings, { ...minimal, PORT: '' }).port).toBe(8080)
  })

  it('refuses secrets marked as development-only in production, and only there', () => {
    const env = { DATABASE_URL: 'postgres://app:development-only@db' }
    expect(loadConfig(settings, env).databaseUrl).toContain('development-only')
    for (const NODE_ENV of ['production', 'Production'])
      expect(problemsOf({ ...env, NODE_ENV })).toEqual([
        'DATABASE_URL holds a secret marked development-only, which is refused in production',
      ])
  })

  it('skips only the rule that needs a missing setting, not the ones after it', () => {
    const needsDatabase = (config: { databaseUrl: string }) =>
      config.databaseUrl === '' ? ['unreachable'] : []
    const refusesPort = () => ['PORT must not be 1']
    expect(() => loadConfig(settings, { PORT: '1' }, needsDatabase, refusesPort)).toThrow(
      /DATABASE_URL is required[^]*PORT must not be 1/,
    )
  })

  it('tells a rule that an invalid setting is there, so that it can name what is missing beside it', () => {
    const mail = {
      host: text({ env: 'HOST', optional: true, doc: '' }),
      port: integer({ env: 'SMTP_PORT', optional: true, doc: '' }),
      sender: text({ env: 'SENDER', optional: true, doc: '' }),
    }
    const isComplete = ({ host, port, sender }: ConfigOf<typeof mail>) =>
      Object.entries({ HOST: host, SMTP_PORT: port, SENDER: sender }).flatMap(([name, value]) =>
        value === undefined ? [`${name} is missing`] : [],
      )
    const uses = [
      ({ port }: ConfigOf<typeof mail>) => [`port ${port}`],
      ({ port }: ConfigOf<typeof mail>) => [String((port ?? 0) > 1)],
      ({ port }: ConfigOf<typeof mail>) => [port?.toFixed() ?? ''],
      ({ port }: ConfigOf<typeof mail>) => Object.keys({ ...(port as unknown as object) }),
    ]
    const load = () => loadConfig(mail, { HOST: 'mail', SMTP_PORT: 'abc' }, ...uses, isComplete)
    expect(load).toThrow(/:\n {2}- SMTP_PORT must be a whole number [^\n]*\n {2}- SENDER is missing$/)
  })

  it('runs the rules over several settings together with the single problems', () => {
    const check = (config: { port: number }) => (config.port === 1 ? ['PORT must not be 1'] : [])
    expect(() => loadConfig(settings, { ...minimal, PORT: '1', VERBOSE: 'maybe' }, check)).toThrow(
      /VERBOSE must be true or false\n.*PORT must not be 1/s,
    )
  })

  it('skips a rule that needs a setting which is missing and already reported', () => {
    const check = (config: { databaseUrl: string }) => [config.databaseUrl.toUpperCase()]
    expect(() => loadConfig(settings, {}, check)).toThrow(ConfigError)
  })
})

describe('parseDuration', () => {
  it.each([
    ['90', 90_000],
    ['1.5', 1500],
    ['1h30m', 5_400_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
    ['-10s', -10_000],
    ['', null],
    ['10 s', null],
    ['10x', null],
    ['h', null],
  ])('reads %p as %p ms', (raw, expected) => {
    expect(parseDuration(raw)).toBe(expected)
  })
})

describe('httpUrl', () => {
  it.each([
    'https://a.example/x?y=1',
    'https://a.example/#f',
    'mailto:a@b.c',
    'a.example',
    'https:///a.example',
    'https:a.example',
    'https:\\\\a.example',
    'https://a.exa\tmple',
  ])('refuses %p', (raw) => {
    expect(() => loadConfig({ url: httpUrl({ env: 'U', doc: '' }) }, { U: raw })).toThrow(ConfigError)
  })

  it('drops trailing slashes', () => {
    expect(loadConfig({ url: httpUrl({ env: 'U', doc: '' }) }, { U: 'https://a.example/' }).url).toBe(
      'https://a.example',
    )
  })
})

describe('documentation', () => {
  it('names every variable, its default and whether it is required or secret', () => {
    const page = renderMarkdown('App', settings)
    expect(page).toContain('| `APP_PORT` or `PORT` | integer | `8080` | Port to listen on. |')
    expect(page).toContain('| `DATABASE_URL` | text | **required** | Postgres connection string. Secret. |')
    expect(page).toContain('`10s`')
  })

  it('gives an example file with the required variables open', () => {
    expect(renderEnvExample(settings)).toContain('\nDATABASE_URL=\n')
    expect(renderEnvExample(settings)).toContain('\n# APP_PORT=8080\n')
  })
})

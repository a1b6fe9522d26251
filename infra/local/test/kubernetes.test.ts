import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { serviceRoleToken } from '../src/stack/secrets.js'
import { codeBlocks } from './support/code-blocks.js'
import { repository } from './support/running-stack.js'

const base = join(repository, 'infra/kubernetes/base')
const pods = readdirSync(base)
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) => readFileSync(join(base, file), 'utf8').split(/^---$/m))
  .filter((document) => /^ +containers:$/m.test(document))
  .map(
    (document) => [/^metadata:\s+\{? ?name: ([a-z-]+)/m.exec(document)?.[1] ?? document, document] as const,
  )

describe('the pods on Kubernetes', () => {
  it('are the three servers and their migrations', () => {
    expect(pods.map(([name]) => name).sort()).toEqual([
      'auth',
      'auth-migrate',
      'dispatcher',
      'webhooks',
      'webhooks-migrate',
    ])
  })

  // Otherwise the Service `webhooks` sets WEBHOOKS_PORT=tcp://… in every pod, which is the name of a setting.
  it.each(pods)('%s gets no variables that are named after Services', (_name, document) => {
    expect(document).toMatch(/^ {6}enableServiceLinks: false$/m)
  })
})

describe('the commands for Kubernetes', () => {
  const page = readFileSync(join(repository, 'infra/kubernetes/README.md'), 'utf8')
  const blockWith = (text: string) =>
    codeBlocks(page, 'sh').find((block) => block.includes(text)) ?? `no commands with ${text}`

  it('roll out nothing after a migration that failed', () => {
    const [last, ...others] = blockWith('kubectl wait').trim().split('\n').reverse()
    expect(last).toContain('rollout status')
    expect(others.filter((line) => !line.endsWith(' &&'))).toEqual([])
  })

  it('print the token with which webhooks asks about accounts', () => {
    const secret = 'a secret of more than 32 characters with $, " and \''
    const env = { ...process.env, AUTH_JWT_SECRET: secret }
    const printed = execFileSync('sh', ['-c', blockWith('service_role')], { env, encoding: 'utf8' })
    expect(printed.trim()).toBe(serviceRoleToken(secret))
  })
})

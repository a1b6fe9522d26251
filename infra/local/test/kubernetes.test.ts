import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
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

// Lints the generated OpenAPI documents with Redocly's recommended rules and Spectral's for OpenAPI. Warnings count.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import spectral from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'
import { root } from '../local/bootstrap.mjs'

const DOCUMENTS = [
  'apps/auth/docs/openapi.json',
  'apps/webhooks/docs/openapi.json',
  'apps/webhooks/docs/openapi-internal.json',
]

const config = await createConfig({
  extends: ['recommended'],
  rules: {
    // Some operations only redirect, and some documents are the same for everyone, so no request for them can be wrong.
    'operation-2xx-response': 'off',
    'operation-4xx-response': 'off',
  },
})
const linter = new spectral.Spectral()
linter.setRuleset(rulesets.oas)

async function problemsOf(source) {
  const redocly = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  const results = await linter.run(source)
  return [
    ...redocly.map(
      ({ ruleId, message, location }) => `redocly ${ruleId}: ${message} ${location[0]?.pointer}`,
    ),
    ...results.map(({ code, message, path }) => `spectral ${code}: ${message} #/${path.join('/')}`),
  ]
}

for (const file of DOCUMENTS)
  for (const problem of await problemsOf(readFileSync(join(root, file), 'utf8'))) {
    console.log(`${file}: ${problem}`)
    process.exitCode = 1
  }

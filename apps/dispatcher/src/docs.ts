import { renderEnvExample, renderMarkdown } from '@signet/config'
import { settings } from './config/config.js'

/** Documents that are made from the code; `npm run docs` writes them, a check fails when one is stale. */
export function generatedDocs(): Record<string, string> {
  return {
    'docs/configuration.md': renderMarkdown('Configuration of the dispatcher', settings),
    '.env.example': renderEnvExample(settings),
  }
}

import { renderEnvExample, renderMarkdown } from '@signet/config'
import { settings } from './config/config.js'
import { MAX_ANSWER_BYTES } from './sending/http-sender.js'

/** Documents generated from the code. `npm run docs` writes them; a check fails when one is stale. */
export function generatedDocs(): Record<string, string> {
  return {
    'docs/configuration.md': renderMarkdown('Configuration of the dispatcher', settings, [
      { of: 'bytes of a response that are read', limit: `${MAX_ANSWER_BYTES / 1024} KiB` },
    ]),
    '.env.example': renderEnvExample(settings),
  }
}

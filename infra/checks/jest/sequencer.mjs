// Long test files first, so that none of them runs on alone at the end. A clone knows no times yet, so they stand here.
import { relative } from 'node:path'
import SequencerModule from '@jest/test-sequencer'

const Sequencer = SequencerModule.default ?? SequencerModule

const LONGEST = [
  'infra/bench/test/bench.test.ts',
  'infra/local/test/start.test.ts',
  'apps/auth/test/keys-rotation.test.ts',
  'packages/cli/test/real-services.test.ts',
  'apps/auth/test/commands.test.ts',
  'apps/auth/test/ui/every-page.test.ts',
  'apps/auth/test/session-model.test.ts',
  'apps/auth/test/strangers.test.ts',
  'apps/webhooks/test/real-agreement.test.ts',
  'apps/dispatcher/test/chaos.test.ts',
  'infra/local/test/journeys.test.ts',
  'infra/local/test/images.test.ts',
  'apps/dispatcher/test/killed.test.ts',
  'infra/local/test/tutorials.test.ts',
  'apps/webhooks/test/every-page.test.ts',
  'apps/webhooks/test/real-warnings.test.ts',
  'apps/dispatcher/test/admin-browser.test.ts',
  'apps/auth/test/ui/account-browser.test.ts',
  'infra/local/src/servers.test.ts',
  'packages/webhook-verify/test/packed.test.ts',
  'apps/webhooks/test/command-line.test.ts',
  'apps/auth/test/fuzz.test.ts',
  'apps/dispatcher/src/markdown/markdown-converter.test.ts',
  'apps/auth/test/outgoing-messages.test.ts',
  'apps/webhooks/test/real-identity.test.ts',
  'apps/webhooks/test/mcp-clients.test.ts',
  'apps/dispatcher/test/recovery.test.ts',
  'apps/webhooks/test/real-holding.test.ts',
  'apps/webhooks/test/ingest-batch.test.ts',
  'apps/dispatcher/test/retention.test.ts',
  'infra/load/test/load.test.ts',
  'apps/auth/test/fuzz-requests.test.ts',
  'apps/auth/test/send-quotas.test.ts',
  'apps/auth/test/mail-looks.test.ts',
  'apps/auth/test/ui/looks-browser.test.ts',
  'apps/webhooks/test/monitoring.test.ts',
  'apps/webhooks/test/docs-browser.test.ts',
  'apps/auth/test/docs-browser.test.ts',
  'infra/local/test/pages.test.ts',
  'apps/dispatcher/test/fairness.test.ts',
]

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path, context }) => {
      const place = LONGEST.indexOf(relative(context.config.rootDir, path))
      return place === -1 ? LONGEST.length : place
    }
    return super.sort(tests).sort((a, b) => rank(a) - rank(b))
  }
}

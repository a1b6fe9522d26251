// Long test files first, so that none of them runs on alone at the end. A clone knows no times yet, so they stand here.
import { relative } from 'node:path'
import SequencerModule from '@jest/test-sequencer'

const Sequencer = SequencerModule.default ?? SequencerModule

const LONGEST = [
  'infra/local/test/bench.test.ts',
  'apps/auth/test/ui/every-page.test.ts',
  'infra/local/test/operator-journey.test.ts',
  'apps/webhooks/test/every-page.test.ts',
  'infra/local/test/start.test.ts',
  'apps/auth/test/strangers.test.ts',
  'infra/local/test/journeys.test.ts',
  'apps/auth/test/commands.test.ts',
  'apps/auth/test/keys-rotation.test.ts',
  'apps/auth/test/ui/account-browser.test.ts',
  'infra/local/test/pages.test.ts',
  'packages/cli/test/real-services.test.ts',
  'apps/dispatcher/test/admin-browser.test.ts',
  'apps/dispatcher/test/chaos.test.ts',
  'apps/auth/test/docs-browser.test.ts',
  'apps/auth/test/fuzz.test.ts',
  'apps/auth/test/ui/passkeys.test.ts',
  'apps/dispatcher/test/recovery.test.ts',
  'infra/local/test/tutorials.test.ts',
  'apps/auth/test/fuzz-requests.test.ts',
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

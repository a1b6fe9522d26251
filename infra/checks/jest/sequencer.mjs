// Runs long test files first, so that none of them runs alone at the end. A new clone does not know their durations yet, so they are
// listed here.
import { relative } from 'node:path'
import SequencerModule from '@jest/test-sequencer'

const Sequencer = SequencerModule.default ?? SequencerModule

/** These files wait most of the time, so the checks, which start at the same time, can use the cores. */
const WAITING = [
  'infra/local/test/journeys.test.ts',
  'apps/dispatcher/test/chaos.test.ts',
  'apps/dispatcher/test/killed.test.ts',
  'apps/dispatcher/test/lost-job-data.test.ts',
  'packages/cli/test/deliveries.test.ts',
  'apps/webhooks/test/real-deliveries.test.ts',
  'apps/auth/test/commands.test.ts',
  'apps/dispatcher/test/event-lists.test.ts',
  'infra/local/src/servers.test.ts',
  'apps/webhooks/test/interop.test.ts',
  'apps/dispatcher/test/hanging-receivers.test.ts',
]

/** These files keep the cores busy, especially once the checks are done and the files above are still waiting. */
const LONGEST = [
  'apps/auth/test/ui/every-page.test.ts',
  'apps/auth/test/strangers-time.test.ts',
  'apps/auth/test/session-model.test.ts',
  'apps/auth/test/keys-rotation.test.ts',
  'apps/auth/test/docs-browser.test.ts',
  'apps/webhooks/test/every-page.test.ts',
  'infra/bench/test/bench.test.ts',
  'infra/local/test/start.test.ts',
  'infra/local/test/images.test.ts',
  'apps/auth/test/ui/account-browser.test.ts',
  'apps/auth/test/fuzz.test.ts',
  'apps/dispatcher/test/admin-browser.test.ts',
  'apps/webhooks/test/docs-browser.test.ts',
  'infra/local/test/pages.test.ts',
  'packages/cli/test/real-services.test.ts',
  'packages/webhook-verify/test/packed.test.ts',
  'apps/dispatcher/src/markdown/markdown-converter.test.ts',
  'apps/auth/test/send-quotas.test.ts',
  'apps/webhooks/test/real-agreement.test.ts',
  'apps/auth/test/enumeration.test.ts',
  'apps/auth/test/admin-lost-authority.test.ts',
  'apps/auth/test/outgoing-messages.test.ts',
  'apps/auth/test/what-sign-ups-leave.test.ts',
  'apps/auth/test/ui/looks-browser.test.ts',
  'apps/webhooks/test/command-line.test.ts',
  'apps/webhooks/test/real-identity.test.ts',
  'apps/webhooks/test/mcp-clients.test.ts',
  'apps/dispatcher/test/recovery.test.ts',
  'apps/webhooks/test/ingest-batch.test.ts',
  'apps/dispatcher/test/retention.test.ts',
  'infra/load/test/load.test.ts',
  'apps/auth/test/fuzz-requests.test.ts',
  'apps/auth/test/mail-looks.test.ts',
  'apps/webhooks/test/monitoring.test.ts',
  'apps/dispatcher/test/fairness.test.ts',
  'apps/webhooks/test/ingest-large.test.ts',
  'apps/auth/test/second-routes.test.ts',
  'apps/dispatcher/test/account-fairness.test.ts',
  'apps/dispatcher/test/enrichment.test.ts',
  'apps/dispatcher/test/failing-jobs.test.ts',
  'apps/dispatcher/test/ops-status.test.ts',
  'packages/cli/test/packed.test.ts',
  'packages/cli/test/listen.test.ts',
]

const FIRST = [...WAITING, ...LONGEST]

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path, context }) => {
      const place = FIRST.indexOf(relative(context.config.rootDir, path))
      return place === -1 ? FIRST.length : place
    }
    return super.sort(tests).sort((a, b) => rank(a) - rank(b))
  }
}

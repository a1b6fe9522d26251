import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { hasModules, runSchemathesis } from '@signet/testkit/programs'
import { aUser, get, post, UUID } from './support/api.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

// Tests with Schemathesis, which knows only the service's OpenAPI document. `npm run interop` fetches it; machines without it skip these
// tests.
let folder: string
let server: TestServer
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signet-document-'))
  // Switches on as much as possible: a feature that is off, or limited, would answer every request in the same way.
  server = await startServer({
    ...NO_EMAIL_GAPS,
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_MFA_WEB_AUTHN_ENROLL_ENABLED: 'true',
    AUTH_MFA_WEB_AUTHN_VERIFY_ENABLED: 'true',
    AUTH_PASSKEY_ENABLED: 'true',
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
  })
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true })
})

/** A user with a factor to name in paths, so that requests get past "not found". */
async function aUserWithFactor() {
  const { access_token: token, user } = await aUser(server)
  const factor = await post(server, '/factors', { factor_type: 'totp', friendly_name: 'one' }, { token })
  return { token, userId: user.id, factorId: String(factor.body['id']) }
}

const settings = ({ userId, factorId }: { userId: string; factorId: string }) => `
# What is refused although it fits the schema: a schema does not say which address, number or password is acceptable, or what goes together.
[checks]
positive_data_acceptance.enabled = false

[dictionaries]
users = { values = ["${userId}"] }
factors = { values = ["${factorId}"] }
nobody = { values = ["${UUID}"] }

[parameters]
"path.user_id" = { dictionary = "users", probability = 0.8 }
"path.factor_id" = { dictionary = "factors", probability = 0.8 }

# What is deleted is not there for the others.
[[operations]]
include-operation-id = "deleteUser"
parameters = { "path.user_id" = { dictionary = "nobody", probability = 1.0 } }

# With another method, \`authorize\` is the id of an identity, which is not found.
[[operations]]
include-operation-id = "linkIdentity"
checks.unsupported_method.enabled = false
`

const ADMIN = '^/(admin/|invite)'

/** Long enough for thousands of requests on a busy machine. */
const TIME_LIMIT_MS = 1_200_000

describe('schemathesis against apps/auth', () => {
  const test = hasModules('schemathesis') ? it : it.skip

  test.each<[string, string | null, string[]]>([
    ['administrators', serviceToken(), ['--include-path-regex', ADMIN]],
    // Signing out would end the session that the other requests use.
    ['users', null, ['--exclude-path-regex', `${ADMIN}|^/logout`]],
  ])(
    'finds no answer to %s that deviates from the document',
    async (_, admin, selection) => {
      const user = await aUserWithFactor()
      const said = await runSchemathesis({
        folder,
        document: (await get(server, '/openapi.json')).text,
        url: server.url,
        token: admin ?? user.token,
        settings: settings(user),
        selection,
      })
      // Every phase ran over every operation, and the server accepted the token.
      expect(said).toMatch(/Selected: (\d+)\/\d+\s+Tested: \1\n/)
      expect(said.match(/✅ (?:Examples|Coverage|Fuzzing)$/gm)).toHaveLength(3)
      expect(said).not.toContain('Authentication failed')
    },
    TIME_LIMIT_MS,
  )
})

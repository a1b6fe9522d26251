import { isAppError } from '@signet/errors'
import { route, type Answer, type Route } from '@signet/http'
import { passkeyNotFound } from '../../passkeys/passkey-rules.js'
import { isUuid } from '../../users/uuid.js'
import { backToAccount, forPerson, onceProved } from '../context/account-person.js'
import { answerOf } from '../context/credential-of.js'
import { newNameIn } from '../context/new-name.js'
import type { Person } from '../context/progress.js'
import { refusalText, type Refusal } from '../context/refusals.js'
import { pageDocs, type Caller, type Sent } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { passkeyScript } from '../passkey-script.js'
import { accountPasskeyPage } from '../pages/account-passkey-page.js'
import { accountForm } from './account-form.js'
import { homeForm } from './account-home-routes.js'

/** Passkeys of the account page. */
export const accountPasskeyRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/account/passkey',
    docs: pageDocs('Offer to create a passkey'),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forPerson(deps, caller, (person) =>
        onceProved(deps, caller, person, () => showNew(deps, caller, person)),
      )
    },
  }),
  accountForm(deps, {
    path: '/ui/account/passkey',
    summary: 'Create a passkey',
    limit: deps.limits.passkeyRegistration,
    work: ({ sent, person, meta }) =>
      onceProved(deps, sent, person, async () => {
        await deps.passkeyRegistrations.register(person, answerOf(sent), meta)
        return backToAccount(deps, sent, 'passkey')
      }),
    refused: ({ sent, person }, refusal) => showNew(deps, sent, person, refusal),
  }),
  homeForm(deps, '/ui/account/passkey/rename', 'Rename a passkey', async ({ sent, person, meta }) => {
    await deps.passkeys.rename(person, passkeyIdOf(sent), newNameIn(sent), meta)
    return backToAccount(deps, sent, 'passkey-renamed')
  }),
  homeForm(deps, '/ui/account/passkey/remove', 'Remove a passkey', async ({ sent, person, meta }) => {
    const ended = await deps.passkeys.remove(person, passkeyIdOf(sent), meta)
    return backToAccount(deps, sent, 'passkey-removed', ended)
  }),
]

function passkeyIdOf(sent: Sent): string {
  const id = sent.text('passkey')
  if (!isUuid(id)) throw passkeyNotFound()
  return id.toLowerCase()
}

async function showNew(
  deps: UiDeps,
  caller: Caller,
  person: Person,
  refusal: Partial<Refusal> = {},
): Promise<Answer> {
  const { pages } = deps
  if (person.user.isAnonymous) return pages.redirect(pages.path('/account', caller.context))
  const asked = await optionsFor(deps, caller, person)
  const page = accountPasskeyPage(caller.t, {
    script: passkeyScript.at(pages.action('/passkey.js')),
    notice: refusal.notice ?? asked.notice,
    form: asked.form,
    back: pages.path('/account', caller.context),
  })
  return pages.render(caller.t, page, refusal)
}

/** The options for the browser, or why this person cannot have a passkey. */
async function optionsFor({ pages, passkeyRegistrations }: UiDeps, caller: Caller, person: Person) {
  try {
    const { challenge, options } = await passkeyRegistrations.options(person)
    const fields = pages.fields(caller, 'settings', { challenge: challenge.id })
    return { form: { action: pages.action('/account/passkey'), fields, options }, notice: undefined }
  } catch (error) {
    if (!isAppError(error)) throw error
    return { form: null, notice: refusalText(caller.t, error) }
  }
}

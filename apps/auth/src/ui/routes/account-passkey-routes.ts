import { isAppError } from '@signet/errors'
import { route, type Answer, type Route } from '@signet/http'
import { isUuid } from '../../users/uuid.js'
import { backToAccount, forPerson } from '../context/account-person.js'
import { answerOf } from '../context/credential-of.js'
import type { Person } from '../context/progress.js'
import { orShow, refusalText, type Refusal } from '../context/refusals.js'
import { pageDocs, pageForm, type Caller, type PageForm } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { passkeyScript } from '../passkey-script.js'
import { accountPasskeyPage } from '../pages/account-passkey-page.js'
import { accountForm } from './account-home-routes.js'

/** Passkeys of the account page. */
export const accountPasskeyRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/account/passkey',
    docs: pageDocs('Offer to create a passkey'),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forPerson(deps, caller, (person) => showNew(deps, caller, person))
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/account/passkey',
    docs: pageDocs('Create a passkey'),
    limit: deps.guard.limit(deps.limits.passkeyRegistration),
    body: pageForm,
    handle({ req, body, context }) {
      const sent = deps.pages.sent(req, 'settings', body)
      return forPerson(deps, sent, (person) =>
        orShow(
          sent.t,
          context,
          async () => {
            await deps.passkeyRegistrations.register(person, answerOf(sent), deps.guard.metaOf(req))
            return backToAccount(deps, sent, 'passkey')
          },
          (refusal) => showNew(deps, sent, person, refusal),
        ),
      )
    },
  }),
  accountForm(deps, '/ui/account/passkey/rename', 'Rename a passkey', async (sent, person, meta) => {
    const id = sent.text('passkey')
    if (isUuid(id)) await deps.passkeys.rename(person, id, sent.text('name'), meta)
    return backToAccount(deps, sent, 'passkey-renamed')
  }),
  accountForm(deps, '/ui/account/passkey/remove', 'Remove a passkey', async (sent, person, meta) => {
    const id = sent.text('passkey')
    if (isUuid(id)) await deps.passkeys.remove(person, id, meta)
    return backToAccount(deps, sent, 'passkey-removed')
  }),
]

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

/** What the browser is asked for; or why this person can have no passkey. */
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

import { route, type Answer, type Route } from '@signet/http'
import type { RequestMeta } from '../../requests/request-meta.js'
import { parseVerifyBody, type VerifyBody } from '../../verify/verify-request.js'
import { backToAccount, forPerson } from '../context/account-person.js'
import { emailFlow } from '../context/own-flow.js'
import type { Person } from '../context/progress.js'
import { faultOf, orShow, PageRefusal, type Refusal } from '../context/refusals.js'
import { pageDocs, pageForm, type Caller, type PageForm, type Sent } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { phoneOf } from '../context/ways-in.js'
import { accountAddressPage, type AccountAddressView } from '../pages/account-address-page.js'

type Kind = 'email' | 'phone'

/** A new email address or phone number, by the rules of PUT /user, proved with the codes of its messages. */
export const accountAddressRoutes = (deps: UiDeps): Route[] => [
  ...(deps.ways.email ? routesOf(deps, 'email') : []),
  ...(deps.ways.phone ? routesOf(deps, 'phone') : []),
]

const routesOf = (deps: UiDeps, kind: Kind): Route[] => [
  route({
    method: 'get',
    path: `/ui/account/${kind}`,
    docs: pageDocs('Change an address'),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forPerson(deps, caller, (person) => show(deps, caller, person, kind))
    },
  }),
  addressForm(deps, kind, {
    path: `/ui/account/${kind}`,
    limit: deps.limits.otp('/user'),
    async work(sent, person, meta) {
      const address = sent.text(kind).trim()
      refuseUnchanged(kind, address, person)
      const caller = { ...person, aud: deps.aud }
      if (kind === 'email') {
        const { challenge, redirectTo } = emailFlow(deps, sent, { ...sent.context, next: 'account' }, meta)
        await deps.userUpdates.update({ ...caller, redirectTo }, { email: address, ...challenge }, meta)
      } else {
        const request = { phone: phoneOf(address) }
        await deps.userUpdates.update({ ...caller, redirectTo: deps.returnUrl }, request, meta)
      }
      return deps.pages.redirect(deps.pages.path(`/account/${kind}`, sent.context))
    },
  }),
  addressForm(deps, kind, {
    path: `/ui/account/${kind}/confirm`,
    limit: deps.limits.verify,
    async work(sent, person, meta) {
      const half = sent.text('half')
      const code = sent.text(half === 'current' ? 'current' : 'code').replaceAll(' ', '')
      if (code === '') throw new PageRefusal('invalid', 'code.missing')
      const verified = await deps.verifications.verify(
        { ...parseVerifyBody(proofOf(person, kind, half, code)), answer: 'session' },
        meta,
      )
      // These pages go on with the session they have.
      if (verified.kind === 'signed_in')
        await deps.overviews.endSession(person, verified.signedIn.session.id, meta)
      return backToAccount(deps, sent, verified.kind === 'first_half' ? 'email-half' : kind)
    },
  }),
]

/** The API ignores an address that is the current one; a person wants to hear of it. */
function refuseUnchanged(kind: Kind, address: string, { user }: Person): void {
  if (kind === 'email' && address.toLowerCase() === user.email)
    throw new PageRefusal('invalid', 'me.email.same')
  if (kind === 'phone' && phoneOf(address).replace(/[+ ]/g, '') === user.phone)
    throw new PageRefusal('invalid', 'me.phone.same')
}

function proofOf({ user }: Person, kind: Kind, half: string, token: string): VerifyBody {
  if (kind === 'phone') return { type: 'phone_change', token, phone: user.newPhone ?? '' }
  return { type: 'email_change', token, email: (half === 'current' ? user.email : user.newEmail) ?? '' }
}

type AddressForm = {
  path: string
  limit: Parameters<UiDeps['guard']['limit']>[0]
  work: (sent: Sent, person: Person, meta: RequestMeta) => Promise<Answer>
}

const addressForm = (deps: UiDeps, kind: Kind, { path, limit, work }: AddressForm): Route =>
  route<undefined, PageForm>({
    method: 'post',
    path,
    docs: pageDocs('Change an address, or prove the new one'),
    limit: deps.guard.limit(limit),
    body: pageForm,
    handle({ req, body, context }) {
      const sent = deps.pages.sent(req, 'settings', body)
      return forPerson(deps, sent, (person) =>
        orShow(
          sent.t,
          context,
          () => work(sent, person, deps.guard.metaOf(req)),
          (refusal) => show(deps, sent, person, kind, { ...refusal, sent }),
        ),
      )
    },
  })

function show(
  { pages, account }: UiDeps,
  caller: Caller,
  { user }: Person,
  kind: Kind,
  { sent, ...refusal }: Partial<Refusal> & { sent?: Sent } = {},
): Answer {
  const fields = pages.fields(caller, 'settings')
  const pending = kind === 'email' ? user.newEmail : user.newPhone
  const half = sent?.text('half') === 'current' ? 'current' : 'code'
  const view: AccountAddressView = {
    kind,
    current: kind === 'email' ? user.email : user.phone,
    value: sent?.text(kind) ?? '',
    notice: refusal.notice,
    fault: faultOf(refusal.code, { address: kind, code: half }),
    waiting:
      pending === null
        ? null
        : {
            address: pending,
            form: { action: pages.action(`/account/${kind}/confirm`), fields },
            codes: [
              { name: 'code', address: pending },
              ...(kind === 'email' && account.bothAddresses && user.email !== null
                ? [{ name: 'current', address: user.email }]
                : []),
            ],
          },
    form: { action: pages.action(`/account/${kind}`), fields },
    back: pages.path('/account', caller.context),
  }
  return pages.render(caller.t, accountAddressPage(caller.t, view), refusal)
}

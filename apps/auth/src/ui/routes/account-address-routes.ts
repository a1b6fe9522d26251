import { route, type Answer, type Route } from '@signet/http'
import { phoneOf } from '../../addresses/phone.js'
import { parseVerifyBody, type VerifyBody } from '../../verify/verify-request.js'
import { backToAccount, forPerson, onceProved } from '../context/account-person.js'
import { newNonce } from '../context/sent-message.js'
import { emailFlow } from '../context/own-flow.js'
import type { Person } from '../context/progress.js'
import { faultOf, PageRefusal, type Refusal } from '../context/refusals.js'
import { pageDocs, type Caller, type Sent } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { fullPhoneOf } from '../context/ways-in.js'
import { accountAddressPage, type AccountAddressView } from '../pages/account-address-page.js'
import { accountForm, type AccountForm, type AccountStep } from './account-form.js'

type Kind = 'email' | 'phone'

/** Changes an email address or phone number by the rules of PUT /user. The codes from its messages prove the new one. */
export const accountAddressRoutes = (deps: UiDeps): Route[] => [
  ...(deps.ways.email ? routesOf(deps, 'email') : []),
  ...(deps.ways.phone ? routesOf(deps, 'phone') : []),
]

function routesOf(deps: UiDeps, kind: Kind): Route[] {
  const path = `/ui/account/${kind}`
  const form = (rest: Omit<AccountForm, 'refused'>) =>
    accountForm(deps, {
      ...rest,
      refused: ({ sent, person }, refusal) => show(deps, sent, person, kind, { ...refusal, sent }),
    })
  return [
    route({
      method: 'get',
      path,
      docs: pageDocs('Change an address'),
      handle({ req, res }) {
        const caller = deps.pages.open(req, res)
        return forPerson(deps, caller, (person) => {
          const page = () => show(deps, caller, person, kind)
          return pendingOf(person, kind) === null ? onceProved(deps, caller, person, page) : page()
        })
      },
    }),
    form({
      path,
      summary: 'Change an address, or send the messages of the change again',
      limit: deps.limits.otp('/user'),
      work(step) {
        const { sent, person } = step
        const begin = async () => {
          await change(deps, step, kind)
          return deps.pages.redirect(deps.pages.path(`/account/${kind}`, sent.context))
        }
        const isSameAgain = sent.text(kind) === pendingOf(person, kind)
        return isSameAgain ? begin() : onceProved(deps, sent, person, begin)
      },
    }),
    form({
      path: `${path}/confirm`,
      summary: 'Prove the new address',
      limit: deps.limits.verify,
      work: (step) => confirm(deps, step, kind),
    }),
    form({
      path: `${path}/cancel`,
      summary: 'Keep the address after all',
      async work({ sent, person, meta }) {
        await deps.userUpdates.cancelChange(person, kind, meta)
        return backToAccount(deps, sent, `${kind}-cancelled`)
      },
    }),
  ]
}

async function change(deps: UiDeps, { sent, person, meta }: AccountStep, kind: Kind): Promise<void> {
  const address = sent.text(kind).trim()
  refuseUnchanged(kind, address, person)
  const caller = { ...person, aud: deps.aud }
  if (kind === 'email') {
    const { challenge, redirectTo } = emailFlow(
      deps,
      sent,
      { ...sent.context, next: 'account' },
      newNonce(),
      meta,
    )
    await deps.userUpdates.update({ ...caller, redirectTo }, { email: address, ...challenge }, meta)
  } else {
    const request = { phone: fullPhoneOf(address) }
    await deps.userUpdates.update({ ...caller, redirectTo: deps.returnUrl }, request, meta)
  }
}

async function confirm(deps: UiDeps, { sent, person, meta }: AccountStep, kind: Kind): Promise<Answer> {
  const half = sent.text('half')
  const code = sent.text(half === 'current' ? 'current' : 'code').replaceAll(' ', '')
  if (code === '') throw new PageRefusal('invalid', 'code.missing')
  const verified = await deps.verifications.verify(
    {
      ...parseVerifyBody(proofOf(person, kind, half, code)),
      typist: { userId: person.user.id },
      // These pages continue in their existing session.
      answer: 'nothing',
    },
    meta,
  )
  return backToAccount(deps, sent, verified.kind === 'first_half' ? 'email-half' : kind)
}

/** The API ignores a new address that is the same as the current one, but a page tells the person. */
function refuseUnchanged(kind: Kind, address: string, { user }: Person): void {
  if (kind === 'email' && address.toLowerCase() === user.email)
    throw new PageRefusal('invalid', 'me.email.same')
  if (kind === 'phone' && phoneOf(address).replace(/[+ ]/g, '') === user.phone)
    throw new PageRefusal('invalid', 'me.phone.same')
}

/** The new address that waits to be confirmed. */
const pendingOf = ({ user }: Person, kind: Kind): string | null =>
  kind === 'email' ? user.newEmail : user.newPhone

function proofOf({ user }: Person, kind: Kind, half: string, token: string): VerifyBody {
  if (kind === 'phone') return { type: 'phone_change', token, phone: user.newPhone ?? '' }
  return { type: 'email_change', token, email: (half === 'current' ? user.email : user.newEmail) ?? '' }
}

function show(
  { pages, account, now }: UiDeps,
  caller: Caller,
  person: Person,
  kind: Kind,
  { sent, ...refusal }: Partial<Refusal> & { sent?: Sent } = {},
): Answer {
  const { user } = person
  const fields = pages.fields(caller, 'settings')
  const pending = pendingOf(person, kind)
  const half = sent?.text('half') === 'current' ? 'current' : 'code'
  const secondsLeft = (sentAt: Date | null): number => {
    const nextAt = (sentAt?.getTime() ?? 0) + account.changeIntervalMs[kind]
    return Math.max(0, Math.ceil((nextAt - now().getTime()) / 1000))
  }
  const view: AccountAddressView = {
    kind,
    current: kind === 'email' ? user.email : user.phone,
    value: caller.typed(kind),
    notice: refusal.notice,
    fault: faultOf(refusal.code, { address: kind, code: half }),
    waiting:
      pending === null
        ? null
        : {
            address: pending,
            confirm: pages.action(`/account/${kind}/confirm`),
            cancel: pages.action(`/account/${kind}/cancel`),
            waitSeconds: secondsLeft(kind === 'email' ? user.emailChangeSentAt : user.phoneChangeSentAt),
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

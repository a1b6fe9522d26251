import { route, type Answer, type Route } from '@signet/http'
import { phoneOf } from '../../addresses/phone.js'
import { pageDocs, pageForm, type Caller, type PageForm, type Sent } from '../context/sign-in-pages.js'
import { forgotPage, phonePage } from '../pages/address-page.js'
import { faultOf, type Refusal } from '../context/refusals.js'
import type { UiDeps } from '../context/ui-deps.js'
import { askForMessage } from './ask-for-message.js'

type Extras = Partial<Refusal> & { address?: string }

/** The differences between the pages that take one address and send one message. */
type Messenger = {
  page: 'forgot' | 'phone'
  summary: string
  /** The API endpoint whose rate limit the page shares. */
  endpoint: '/recover' | '/otp'
  expects: 'recovery' | 'sms'
  addressOf(sent: Sent): string
}

/** Password reset: emails a link to choose a new password. */
export const forgotRoutes = (deps: UiDeps): Route[] =>
  messengerRoutes(deps, {
    page: 'forgot',
    summary: 'Ask for a link to choose a new password',
    endpoint: '/recover',
    expects: 'recovery',
    addressOf: (sent) => sent.text('email').trim(),
  })

/** Signing in with a code by SMS. */
export const phoneRoutes = (deps: UiDeps): Route[] =>
  messengerRoutes(deps, {
    page: 'phone',
    summary: 'Ask for a code by SMS',
    endpoint: '/otp',
    expects: 'sms',
    addressOf: (sent) => phoneOf(sent.text('phone').trim()),
  })

const messengerRoutes = (deps: UiDeps, messenger: Messenger): Route[] => [
  route({
    method: 'get',
    path: `/ui/${messenger.page}`,
    docs: pageDocs(messenger.summary),
    handle: ({ req, res }) => show(deps, messenger.page, deps.pages.open(req, res)),
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: `/ui/${messenger.page}`,
    docs: pageDocs(messenger.summary),
    limit: deps.guard.limit(deps.limits.otp(messenger.endpoint)),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, messenger.page, body)
      const address = messenger.addressOf(sent)
      const message = { kind: messenger.expects, address }
      return askForMessage(deps, { req, res, sent, context }, message, (refusal) =>
        show(deps, messenger.page, sent, { ...refusal, address }),
      )
    },
  }),
]

const addressPages: Readonly<
  Record<'forgot' | 'phone', (...page: Parameters<typeof forgotPage>) => ReturnType<typeof forgotPage>>
> = {
  forgot: forgotPage,
  phone: phonePage,
}

function show(
  { pages, ways }: UiDeps,
  which: keyof typeof addressPages,
  caller: Caller,
  { address = caller.typed(which === 'forgot' ? 'email' : 'phone'), ...refusal }: Extras = {},
): Answer {
  const page = addressPages[which](caller.t, {
    ways,
    address,
    ...(refusal.notice === undefined ? {} : { notice: refusal.notice }),
    fault: faultOf(refusal.code, { address: which === 'forgot' ? 'email' : 'phone' }),
    form: { action: pages.action(`/${which}`), fields: pages.fields(caller, which) },
    signIn: pages.path('', caller.context),
  })
  return pages.render(caller.t, page, refusal)
}

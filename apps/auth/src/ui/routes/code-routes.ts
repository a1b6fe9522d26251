import { route, type Answer, type Route } from '@signet/http'
import { invalid } from '../../errors/auth-error.js'
import { parseVerifyBody } from '../../verify/verify-request.js'
import { pageDocs, pageForm, type Caller, type PageForm } from '../context/sign-in-pages.js'
import { codePage } from '../pages/code-page.js'
import { orShow, type Refusal } from '../context/refusals.js'
import type { UiDeps } from '../context/ui-deps.js'

/** What a code is for; the names are those of POST /verify. */
const KINDS = ['email', 'recovery', 'sms'] as const
type Kind = (typeof KINDS)[number]
type Expected = { kind: Kind; address: string }

/** Signs in with a typed code from an email or SMS, for example when email is read on another device. */
export const codeRoutes = (deps: UiDeps): Route[] => [
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/code',
    docs: pageDocs('Sign in with the code of an email or an SMS'),
    limit: deps.guard.limit(deps.limits.verify),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'code', body)
      const kind = KINDS.find((known) => known === sent.text('kind'))
      const address = sent.text('address')
      if (kind === undefined || address === '') throw invalid('The form is not complete.')
      return orShow(
        context,
        async () => {
          const code = sent.text('code').replaceAll(' ', '')
          if (code === '') throw invalid('Enter the code.')
          const to = kind === 'sms' ? { phone: address } : { email: address }
          const { type, proof } = parseVerifyBody({ type: kind, token: code, ...to })
          const verified = await deps.verifications.verify(
            { type, proof, answer: 'session' },
            deps.guard.metaOf(req),
          )
          if (verified.kind !== 'signed_in') throw invalid('This code does not sign in.')
          const next = kind === 'recovery' ? 'password' : sent.context.next
          return deps.progress.signedIn(res, sent.browser, { ...sent.context, next }, verified.signedIn)
        },
        (refusal) => showCode(deps, sent, { kind, address }, refusal),
      )
    },
  }),
]

export function showCode(
  { pages }: Pick<UiDeps, 'pages'>,
  caller: Caller,
  expected: Expected,
  refusal: Partial<Refusal> = {},
): Answer {
  const page = codePage({
    kind: expected.kind === 'sms' ? 'sms' : 'mail',
    address: expected.address,
    ...(refusal.notice === undefined ? {} : { notice: refusal.notice }),
    form: { action: pages.action('/code'), fields: pages.fields(caller, 'code', expected) },
    signIn: pages.path('', caller.context),
  })
  return pages.render(page, refusal)
}

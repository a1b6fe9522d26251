import { route, type Answer, type Route } from '@signet/http'
import { invalid } from '../../errors/auth-error.js'
import { parseVerifyBody } from '../../verify/verify-request.js'
import { pageDocs, pageForm, type Caller, type PageForm } from '../desk.js'
import { codePage } from '../pages/code-page.js'
import { orShow, type Refusal } from '../refusals.js'
import { type UiDeps } from '../ui-deps.js'

/** What a code is for; the names are those of POST /verify. */
const KINDS = ['email', 'recovery', 'sms'] as const
type Kind = (typeof KINDS)[number]
type Expected = { kind: Kind; address: string }

/** The code of a mail or an SMS, typed in; also the way for those who read their mail on another device. */
export const codeRoutes = (deps: UiDeps): Route[] => [
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/code',
    docs: pageDocs('Sign in with the code of a mail or an SMS'),
    limit: deps.guard.limit(deps.limits.verify),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.desk.sent(req, 'code', body)
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
          const visit = kind === 'recovery' ? ({ ...sent.visit, next: 'password' } as const) : sent.visit
          return deps.progress.signedIn(res, sent.browser, visit, verified.signedIn)
        },
        (refusal) => showCode(deps, sent, { kind, address }, refusal),
      )
    },
  }),
]

export function showCode(
  { desk }: Pick<UiDeps, 'desk'>,
  caller: Caller,
  expected: Expected,
  refusal: Partial<Refusal> = {},
): Answer {
  const page = codePage({
    kind: expected.kind === 'sms' ? 'sms' : 'mail',
    address: expected.address,
    ...(refusal.notice === undefined ? {} : { notice: refusal.notice }),
    form: { action: desk.action('/code'), fields: desk.fields(caller, 'code', expected) },
    signIn: desk.path('', caller.visit),
  })
  return desk.page(page, refusal)
}

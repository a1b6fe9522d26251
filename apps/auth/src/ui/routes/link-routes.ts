import { route, type Answer, type Route } from '@signet/http'
import type { Request } from 'express'
import { otpExpired } from '../../errors/auth-error.js'
import { verifierMatches } from '../../flows/pkce.js'
import { networkOf } from '@signet/rate-limits/network'
import { followLink } from '../../verify/follow-link.js'
import { parseLinkType } from '../../verify/verify-request.js'
import type { LinkPreview, LinkProof } from '../../verify/verify-service.js'
import { backToAccount } from '../context/account-person.js'
import { outcome, outcomeIn } from '../context/outcome.js'
import { linkOrigin, type LinkOrigin } from '../context/own-flow.js'
import { orShow, PageRefusal, refusalText } from '../context/refusals.js'
import { proved, type SignInContext } from '../context/sign-in-context.js'
import { pageDocs, pageForm, type Caller, type PageForm } from '../context/sign-in-pages.js'
import { nameOf } from '../context/name-of.js'
import type { UiDeps } from '../context/ui-deps.js'
import { confirmedPage, deadLinkPage, linkPage } from '../pages/link-page.js'
import type { UiKey } from '../texts.js'

/** The page of an emailed link. Opening it does not use the link up; only its buttons do. */
export const linkRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/link',
    docs: pageDocs('Ask before using the link of an email'),
    async handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      const opened = await open(deps, caller, (name) => textOf(req.query[name]))
      if (opened !== null) return show(deps, req, caller, opened)
      // A person who has used the link and reloads its page is signed in.
      const person = await deps.progress.personOf(caller.browser)
      return person === null
        ? dead(deps, caller)
        : deps.pages.redirect(deps.pages.path('', proved(caller.context)))
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/link',
    docs: pageDocs('Use the link of an email in this browser'),
    limit: deps.guard.limit(deps.limits.verify),
    body: pageForm,
    async handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'link', body)
      const meta = deps.guard.metaOf(req)
      return orShow(
        sent.t,
        context,
        async () => {
          const opened = await open(deps, sent, (name) => sent.text(name))
          if (opened === null) throw otpExpired()
          const { link, from } = opened
          const setsOwn = isOfAnother(opened)
          if (from === 'application') {
            const target = sent.context.target ?? deps.returnUrl
            return deps.pages.redirect(await followLink(deps, { ...link, target }, meta))
          }
          const proof = { kind: 'link', token: link.token } as const
          const request = {
            type: link.type,
            proof,
            answer: isOfChange(link) ? 'nothing' : 'session',
            followed: true,
            confirmed: true,
            withoutSignUp: setsOwn,
          } as const
          const verified = await deps.verifications.verify(request, meta)
          if (verified.kind === 'first_half') return toOutcome(deps, sent, '/link/half-confirmed')
          if (verified.kind === 'confirmed')
            return (await isPersonOf(deps, sent, opened))
              ? backToAccount(deps, sent, 'email')
              : toOutcome(deps, sent, '/link/changed')
          if (verified.kind !== 'signed_in') throw new PageRefusal('invalid', 'link.useless')
          const goingOn = from === 'here' ? sent.context : withoutVerifier(sent.context)
          const next = setsOwn ? 'password' : goingOn.next
          return deps.progress.signedIn(res, sent.browser, { ...goingOn, next }, verified.signedIn)
        },
        ({ status, notice }) => dead(deps, sent, status, notice),
      )
    },
  }),
  outcomeRoute(
    deps,
    '/link/half-confirmed',
    'Say that the other address of a change must be confirmed, too',
    'me.done.email-half',
  ),
  outcomeRoute(deps, '/link/changed', 'Say that an email address was changed', 'me.done.email'),
  ...(deps.linksMayGoOn ? otherDeviceRoutes(deps) : []),
]

const otherDeviceRoutes = (deps: UiDeps): Route[] => [
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/link/confirm',
    docs: pageDocs('Let the device that asked for the link continue'),
    limit: deps.guard.limit(deps.limits.verify),
    body: pageForm,
    async handle({ req, body, context }) {
      const sent = deps.pages.sent(req, 'link-confirm', body)
      const meta = deps.guard.metaOf(req)
      return orShow(
        sent.t,
        context,
        async () => {
          const opened = await open(deps, sent, (name) => sent.text(name))
          if (opened?.from !== 'elsewhere' || opened.preview.challenge === null || opened.origin === null)
            throw otpExpired()
          if (isOfChange(opened.link)) throw new PageRefusal('invalid', 'link.useless')
          const { link, origin } = opened
          const { challenge } = opened.preview
          const number = sent.text('number').replaceAll(' ', '')
          if (!/^\d{2}$/.test(number))
            return await show(deps, req, sent, opened, sent.t('link.number-missing'))
          // There is only one attempt, so that a stranger who started this cannot talk the owner into trying numbers.
          if (number !== deps.state.matchingNumber(challenge, origin.nonce)) {
            await deps.verifications.discardLink(link, meta)
            return dead(deps, sent, 422, sent.t('link.wrong-number'))
          }
          const proof = { kind: 'link', token: link.token } as const
          const code = deps.state.confirmedCode(challenge, origin.nonce)
          await deps.verifications.verify(
            { type: link.type, proof, answer: 'code', code, followed: true },
            meta,
          )
          context.fields['confirmed_elsewhere'] = true
          return toOutcome(deps, sent, '/link/confirmed')
        },
        ({ status, notice }) => dead(deps, sent, status, notice),
      )
    },
  }),
  outcomeRoute(deps, '/link/confirmed', 'Say that the other device can continue'),
]

type OutcomePage = '/link/half-confirmed' | '/link/changed' | '/link/confirmed'

const toOutcome = (deps: UiDeps, { browser, context }: Caller, page: OutcomePage): Answer =>
  deps.pages.redirect(deps.pages.path(page, context, outcome(deps, browser, page)))

/** A page that says what using a link has done, in the browser where it was used. */
const outcomeRoute = (deps: UiDeps, page: OutcomePage, summary: string, text?: UiKey): Route =>
  route({
    method: 'get',
    path: `/ui${page}`,
    docs: pageDocs(summary),
    handle({ req, res }) {
      const { browser, context, t } = deps.pages.open(req, res)
      return outcomeIn(deps, browser, req) === page
        ? deps.pages.render(t, confirmedPage(t, text && t(text)))
        : deps.pages.redirect(deps.pages.path('', context))
    },
  })

type Opened = {
  link: LinkProof
  preview: LinkPreview
  /** What asked for the link: this browser, another one, or an application through the API. */
  from: 'here' | 'elsewhere' | 'application'
  origin: LinkOrigin | null
  /** The origin in its sealed form. */
  asked: string
}

/**
 * Whether someone else also signed up with this address, and this link was requested in another browser. The password of its sign-up may be
 * a stranger's, so the reader has to choose a new one.
 */
const isOfAnother = ({ from, preview }: Opened): boolean => from === 'elsewhere' && preview.contested

/**
 * The link of a change of address only confirms the address and signs nobody in. The change continues in the session that began it, and no
 * page waits for the link.
 */
const isOfChange = ({ type }: LinkProof): boolean => type === 'email_change'

/** Whether the owner of the link is signed in here. */
const isPersonOf = async ({ progress }: UiDeps, { browser }: Caller, { preview }: Opened): Promise<boolean> =>
  (await progress.personOf(browser))?.user.id === preview.userId

/** The link, if it would work, and who asked for it. */
async function open(
  deps: UiDeps,
  { browser, context }: Caller,
  text: (name: string) => string,
): Promise<Opened | null> {
  const link = { type: parseLinkType(text('type')), token: text('token') }
  const preview = link.token === '' ? null : await deps.verifications.preview(link)
  if (preview === null) return null
  const { challenge } = preview
  const asked = text('asked')
  const origin = challenge && linkOrigin(deps, challenge.challenge, asked)
  if (challenge === null || origin === null)
    return { link, preview, from: 'application', origin: null, asked }
  const isHere = verifierMatches(challenge, deps.state.verifier(browser, context))
  return { link, preview, from: isHere ? 'here' : 'elsewhere', origin, asked }
}

/**
 * The context without its application. The application waits in another browser, which has its verifier, so a code would be useless in this
 * one.
 */
const withoutVerifier = (context: SignInContext): SignInContext =>
  context.challenge === null ? context : { ...context, target: null, challenge: null, state: null }

async function show(
  deps: UiDeps,
  req: Request,
  caller: Caller,
  opened: Opened,
  missing?: string,
): Promise<Answer> {
  const { pages, progress, guard, now, linksMayGoOn } = deps
  const { link, preview, from, origin } = opened
  const person = await progress.personOf(caller.browser)
  const onlyConfirms = isOfChange(link) && from !== 'application'
  const signedInAs = person === null || onlyConfirms ? null : nameOf(caller.t, person.user)
  const more = { type: link.type, token: link.token, asked: opened.asked }
  const { ip } = guard.metaOf(req)
  const page = linkPage(caller.t, {
    address: preview.address,
    notice: missing,
    confirmsAddress: isOfChange(link),
    onlyConfirms: onlyConfirms && person?.user.id !== preview.userId,
    setsPassword: from !== 'application' && (link.type === 'recovery' || isOfAnother(opened)),
    signedInAs: signedInAs === preview.address ? null : signedInAs,
    elsewhere:
      from !== 'elsewhere' || origin === null
        ? null
        : {
            origin,
            now: now().getTime(),
            sameNetwork: networkOf(origin.ip) === networkOf(ip),
            confirm:
              linksMayGoOn && !onlyConfirms
                ? {
                    action: pages.action('/link/confirm'),
                    fields: pages.fields(caller, 'link-confirm', more),
                  }
                : null,
          },
    proceed: { action: pages.action('/link'), fields: pages.fields(caller, 'link', more) },
    signIn: pages.action(''),
  })
  return pages.render(caller.t, page, missing === undefined ? {} : { status: 422 })
}

function dead(
  { pages }: UiDeps,
  { context, t }: Caller,
  status = 403,
  notice = refusalText(t, otpExpired()),
): Answer {
  return pages.render(t, deadLinkPage(t, { notice, signIn: pages.path('', { ...context, next: null }) }), {
    status,
  })
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

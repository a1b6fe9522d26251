import { afterAll, beforeAll, expect } from '@jest/globals'
import { mailTo, PASSWORD, post, put, type ApiAnswer, type CallOptions, type Json } from './api.js'
import { signInWith, userOf } from './fake-provider.js'
import { anId, startProviderSite, type ProviderSite } from './provider-site.js'
import { NO_EMAIL_GAPS } from './server.js'
import { startSmsGateway, type SmsGateway } from './sms-gateway.js'
import { serviceToken } from './tokens.js'

/** What someone gave when they signed up with an address. */
export type Given = { password: string; data: Json }
export const STRANGERS_PASSWORD = 'of the stranger'
export const STRANGER: Given = { password: STRANGERS_PASSWORD, data: { from: 'stranger' } }
export const OWNER: Given = { password: PASSWORD, data: { from: 'self' } }
export const admin = { token: serviceToken() }
/** A different network from that of calls without this header. */
export const ELSEWHERE = { headers: { 'X-Client': 'elsewhere' } }

/** A server where people can prove addresses in every way, and the steps that they take. */
export type ProofSite = ProviderSite & {
  gateway: SmsGateway
  signUp(address: Json, given: Given, from?: CallOptions): Promise<ApiAnswer>
  signIn(address: Json, password: string): Promise<ApiAnswer>
  verify(body: Json, from?: CallOptions): Promise<ApiAnswer>
  /** Link token and code of the email that `send` causes. */
  secretsOf(
    email: string,
    send: () => Promise<ApiAnswer>,
  ): Promise<{ sent: ApiAnswer } & Awaited<ReturnType<typeof mailTo>>>
  /** The user's row, found by one column; empty when there is none. */
  userRow(where: Json): Promise<Json>
  /** Proves an email address in one of {@link EMAIL_PROOFS}, and returns the user. */
  prove(proof: EmailProof, email: string): Promise<Json>
}

/** Starts one site for all tests of a file. */
export function useProofSite(env: Record<string, string> = {}): ProofSite {
  const site = {} as ProofSite
  beforeAll(async () => void Object.assign(site, await startProofSite(env)))
  afterAll(() => site.close())
  return site
}

async function startProofSite(env: Record<string, string>): Promise<ProofSite> {
  const gateway = await startSmsGateway()
  const providers = await startProviderSite(
    {
      ...NO_EMAIL_GAPS,
      AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
      AUTH_SMS_MAX_FREQUENCY: '0',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_PASSKEY_ENABLED: 'true',
      AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: 'true',
      AUTH_RATE_LIMIT_HEADER: 'X-Client',
      AUTH_RATE_LIMIT_OTP: '100000',
      ...gateway.env,
      ...env,
    },
    { smsUrls: gateway.urls },
  )
  const { server } = providers
  const site: ProofSite = {
    ...providers,
    gateway,
    signUp: (address, { password, data }, from) =>
      post(server, '/signup', { ...address, password, data }, from),
    signIn: (address, password) => post(server, '/token?grant_type=password', { ...address, password }),
    verify: (body, from) => post(server, '/verify', body, { versioned: true, ...from }),
    async secretsOf(email, send) {
      const last = server.inbox.messages({ to: email }).at(-1)
      const sent = await send()
      expect(sent.status).toBe(200)
      return { sent, ...(await mailTo(server, email, last)) }
    },
    async userRow(where) {
      const [[column, value] = ['', '']] = Object.entries(where)
      const { rows } = await server.context.db.query<Json>(
        `select id, encrypted_password, user_metadata from users where ${column} = $1`,
        [value],
      )
      return rows[0] ?? {}
    },
    prove: (proof, email) => STEPS[proof](site, email),
    async close() {
      await providers.close()
      await gateway.close()
    },
  }
  return site
}

export const userOfAnswer = ({ body }: ApiAnswer): Json => (body['user'] ?? body) as Json

/** Proofs of an email address, apart from the link or code of the sign-up itself. */
export const EMAIL_PROOFS = [
  'a magic link',
  'a recovery link',
  'a code by email',
  'the code of another sign-up',
  'an invitation',
  'an administrator',
  'a provider that vouches for it',
  'a generated link',
] as const
export type EmailProof = (typeof EMAIL_PROOFS)[number]

const STEPS: Record<EmailProof, (site: ProofSite, email: string) => Promise<Json>> = {
  async 'a magic link'(site, email) {
    const { token } = await site.secretsOf(email, () => post(site.server, '/magiclink', { email }))
    return userOfAnswer(await site.verify({ type: 'email', token_hash: token }))
  },
  async 'a recovery link'(site, email) {
    const { token } = await site.secretsOf(email, () => post(site.server, '/recover', { email }))
    return userOfAnswer(await site.verify({ type: 'recovery', token_hash: token }))
  },
  async 'a code by email'(site, email) {
    const { code } = await site.secretsOf(email, () => post(site.server, '/otp', { email }))
    return userOfAnswer(await site.verify({ type: 'email', email, token: code }))
  },
  async 'the code of another sign-up'(site, email) {
    const { code } = await site.secretsOf(email, () => site.signUp({ email }, STRANGER, ELSEWHERE))
    return userOfAnswer(await site.verify({ type: 'signup', email, token: code }))
  },
  async 'an invitation'(site, email) {
    const { token } = await site.secretsOf(email, () => post(site.server, '/invite', { email }, admin))
    return userOfAnswer(await site.verify({ type: 'invite', token_hash: token }))
  },
  async 'an administrator'(site, email) {
    const { id } = await site.userRow({ email })
    return (await put(site.server, `/admin/users/${String(id)}`, { email_confirm: true }, admin)).body
  },
  async 'a provider that vouches for it'(site, email) {
    site.github(anId(), { email })
    return userOf(site.server, await signInWith(site.server, 'github'))
  },
  async 'a generated link'(site, email) {
    const { body } = await post(site.server, '/admin/generate_link', { type: 'magiclink', email }, admin)
    return userOfAnswer(await site.verify({ type: 'magiclink', token_hash: body['hashed_token'] }))
  },
}

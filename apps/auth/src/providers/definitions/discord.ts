import { at, oneEmail, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition } from '../model/provider.js'

const CDN = 'https://cdn.discordapp.com'

export const discord: ProviderDefinition = {
  label: 'Discord',
  guide: {
    register: 'discord.com/developers, Applications, OAuth2: redirect and client secret.',
    returns: '`id`, `username`, `discriminator`, `global_name`, avatar, `email` with `verified`.',
    tests: ['rows'],
    quirks: ['Accounts without a picture get the default one of their discriminator.'],
  },
  scopes: ['email', 'identify'],
  endpoints: (endpoint) => ({
    authorize: endpoint('https://discord.com/api/oauth2/authorize'),
    token: endpoint('https://discord.com/api/oauth2/token'),
  }),
  async profile({ get, endpoint }) {
    const user = await get(endpoint('https://discord.com/api/users/@me'))
    const username = textAt(user, 'username')
    const globalName = textAt(user, 'global_name')
    return {
      subject: subjectAt(user, 'id'),
      emails: oneEmail(textAt(user, 'email'), at(user, 'verified') === true),
      data: {
        name: username === undefined ? undefined : `${username}#${discriminatorOf(user)}`,
        full_name: username,
        picture: avatarOf(user),
        custom_claims: globalName === undefined ? undefined : { global_name: globalName },
      },
    }
  },
}

/** `0` or missing for accounts with the newer, unique names. */
const discriminatorOf = (user: unknown): string => textAt(user, 'discriminator') ?? '0'

function avatarOf(user: unknown): string {
  const hash = textAt(user, 'avatar')
  if (hash === undefined) return `${CDN}/embed/avatars/${Number(discriminatorOf(user)) % 5 || 0}.png`
  return `${CDN}/avatars/${textAt(user, 'id') ?? ''}/${hash}.${hash.startsWith('a_') ? 'gif' : 'png'}`
}

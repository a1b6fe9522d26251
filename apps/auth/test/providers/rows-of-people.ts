import { createHmac } from 'node:crypto'
import { expect } from '@jest/globals'
import { CLIENT_ID, CLIENT_SECRET } from '../support/fake-provider.js'
import { json, type Row } from './row.js'

/** Providers that people use in private. */
export const rowsOfPeople: Row[] = [
  {
    name: 'discord',
    authorize: '/api/oauth2/authorize',
    token: '/api/oauth2/token',
    scope: 'email identify',
    profile: {
      'GET /api/users/@me': json({
        id: '80351110224678912',
        username: 'nelly',
        discriminator: '1337',
        global_name: 'Nelly',
        avatar: 'a_8342729',
        verified: true,
        email: 'nelly@discord.example',
      }),
    },
    unverified: { verified: false },
    identity: {
      sub: '80351110224678912',
      provider_id: '80351110224678912',
      name: 'nelly#1337',
      full_name: 'nelly',
      custom_claims: { global_name: 'Nelly' },
      picture: 'https://cdn.discordapp.com/avatars/80351110224678912/a_8342729.gif',
      avatar_url: 'https://cdn.discordapp.com/avatars/80351110224678912/a_8342729.gif',
      email: 'nelly@discord.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'facebook',
    authorize: '/dialog/oauth',
    token: '/oauth/access_token',
    scope: 'email',
    profile: {
      'GET /me': json({
        id: '1001',
        email: 'fb@facebook.example',
        first_name: 'Fay',
        last_name: 'Book',
        name: 'Fay B.',
        picture: { data: { url: 'https://fb/p.jpg' } },
      }),
    },
    check(provider, base) {
      const proof = createHmac('sha256', CLIENT_SECRET).update('the-access-token').digest('hex')
      expect(provider.last(`GET ${base}/me`).query).toEqual({
        fields: 'email,first_name,last_name,name,picture',
        appsecret_proof: proof,
      })
    },
    identity: {
      sub: '1001',
      provider_id: '1001',
      name: 'Fay Book',
      full_name: 'Fay Book',
      nickname: 'Fay B.',
      slug: 'Fay B.',
      picture: 'https://fb/p.jpg',
      avatar_url: 'https://fb/p.jpg',
      email: 'fb@facebook.example',
      email_verified: true,
      phone_verified: false,
    },
  },
  {
    name: 'snapchat',
    authorize: '/accounts/oauth2/auth',
    token: '/accounts/oauth2/token',
    scope: [
      'https://auth.snapchat.com/oauth2/api/user.external_id',
      'https://auth.snapchat.com/oauth2/api/user.display_name',
      'https://auth.snapchat.com/oauth2/api/user.bitmoji.avatar',
    ].join(' '),
    env: { EMAIL_OPTIONAL: 'true' },
    profile: {
      'GET /v1/me': json({
        data: { me: { externalId: 'sn-1', displayName: 'Snap', bitmoji: { avatar: 'https://sn/b.png' } } },
      }),
    },
    check(provider, base) {
      const { query } = provider.last(`GET ${base}/v1/me`)
      expect(query['query']).toMatch(/^\{ ?me ?\{ ?externalId displayName bitmoji ?\{ ?avatar/)
    },
    identity: {
      sub: 'sn-1',
      provider_id: 'sn-1',
      name: 'Snap',
      full_name: 'Snap',
      picture: 'https://sn/b.png',
      avatar_url: 'https://sn/b.png',
      email_verified: false,
      phone_verified: false,
    },
  },
  {
    name: 'spotify',
    authorize: '/authorize',
    token: '/api/token',
    basic: true,
    scope: 'user-read-email',
    profile: {
      'GET /v1/me': json({
        id: 'sp-1',
        email: 'sp@spotify.example',
        display_name: 'Spot',
        images: [
          { url: 'https://sp/64.png', width: 64 },
          { url: 'https://sp/300.png', width: 300 },
        ],
      }),
    },
    refused: true,
    identity: {
      sub: 'sp-1',
      provider_id: 'sp-1',
      name: 'Spot',
      full_name: 'Spot',
      picture: 'https://sp/300.png',
      avatar_url: 'https://sp/300.png',
      email: 'sp@spotify.example',
      email_verified: false,
      phone_verified: false,
    },
  },
  {
    name: 'twitch',
    authorize: '/oauth2/authorize',
    token: '/oauth2/token',
    scope: 'user:read:email',
    tokenAnswer: { scope: ['user:read:email'] },
    profile: {
      'GET /helix/users': json({
        data: [
          {
            id: 'tw-1',
            login: 'twit',
            display_name: 'Twit Ch',
            email: 'tw@twitch.example',
            profile_image_url: 'https://tw/p.png',
          },
        ],
      }),
    },
    check(provider, base) {
      expect(provider.last(`GET ${base}/helix/users`).headers['client-id']).toBe(CLIENT_ID)
    },
    identity: {
      sub: 'tw-1',
      provider_id: 'tw-1',
      name: 'twit',
      full_name: 'twit',
      nickname: 'Twit Ch',
      slug: 'Twit Ch',
      picture: 'https://tw/p.png',
      avatar_url: 'https://tw/p.png',
      email: 'tw@twitch.example',
      email_verified: true,
      phone_verified: false,
    },
  },
]

import type { ProviderDefinition } from '../model/provider.js'
import { apple } from './apple.js'
import { azure } from './azure.js'
import { bitbucket } from './bitbucket.js'
import { discord } from './discord.js'
import { facebook } from './facebook.js'
import { figma } from './figma.js'
import { github } from './github.js'
import { gitlab } from './gitlab.js'
import { google } from './google.js'
import { keycloak } from './keycloak.js'
import { linkedin } from './linkedin.js'
import { notion } from './notion.js'
import { slack } from './slack.js'
import { snapchat } from './snapchat.js'
import { spotify } from './spotify.js'
import { twitch } from './twitch.js'
import { twitter } from './twitter.js'
import { workos } from './workos.js'

/** All providers. To add one, add a file next to this one and its name here. Settings, pages, docs and routes follow from that. */
export const definitions = {
  apple,
  azure,
  bitbucket,
  discord,
  facebook,
  figma,
  github,
  gitlab,
  google,
  keycloak,
  linkedin,
  notion,
  slack,
  snapchat,
  spotify,
  twitch,
  twitter,
  workos,
} satisfies Readonly<Record<string, ProviderDefinition>>

export type Provider = keyof typeof definitions

export const providers = Object.keys(definitions) as Provider[]

export const providerLabels = Object.fromEntries(providers.map((name) => [name, definitions[name].label]))

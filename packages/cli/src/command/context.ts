import { HttpClient } from '../api/http-client.js'
import { CredentialStore } from '../credentials/credential-store.js'
import { Output } from '../output/output.js'
import { Prompter } from '../prompt/prompter.js'
import type { Host } from './host.js'
import { readSettings, type Settings } from './settings.js'

/** What a command works with, built here once per run. */
export type Context = {
  settings: Settings
  output: Output
  prompter: Prompter
  http: HttpClient
  store: CredentialStore
  interruption: () => AbortSignal
}

export type CommonOptions = { json?: boolean; url?: string; authUrl?: string; profile?: string }

export function createContext(host: Host, options: CommonOptions): Context {
  const { stdin, stdout, stderr, env, interruption } = host
  const output = new Output({ stdout, stderr, env, json: options.json === true })
  const settings = readSettings(options, env)
  return {
    settings,
    output,
    prompter: new Prompter(stdin, stderr),
    http: new HttpClient(),
    store: new CredentialStore({
      configDir: settings.configDir,
      profile: settings.profile,
      preference: settings.store,
      warn: (text) => output.warn(text),
    }),
    interruption,
  }
}

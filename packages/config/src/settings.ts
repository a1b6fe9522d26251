/**
 * One row of a settings table. `env` lists the accepted variable names in order of precedence. An empty string counts as
 * unset.
 */
export type Setting<T> = {
  readonly env: readonly string[]
  readonly doc: string
  readonly secret: boolean
  readonly kind: string
  /** Undefined with `required: false` means the setting is optional without a default. */
  readonly fallback: T | undefined
  readonly fallbackDoc: string | undefined
  readonly required: boolean
  /** Throws an Error that says what is expected, without repeating the value. */
  readonly parse: (raw: string) => T
}

export type Settings = Readonly<Record<string, Setting<unknown>>>
export type ConfigOf<S extends Settings> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never
}

/** A rule across settings. Returns the problems that it finds. */
export type Rule<C> = (config: C) => string[]

/** A rule with one problem to report. */
export const rule =
  <C>(broken: (config: C) => boolean, problem: string): Rule<C> =>
  (config) =>
    broken(config) ? [problem] : []

/** All problems found in the environment, by variable name. Never contains values, because they may be secret. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`Invalid configuration:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}

/** Keeps the literal types of a settings table. */
export const defineSettings = <S extends Settings>(settings: S): S => settings

/**
 * Reads a settings table from `env` and reports every problem in one {@link ConfigError}. `checks` run afterwards, for rules
 * across settings. They run even if single settings are invalid, so that an operator gets the whole list at once: a check then sees the
 * fallback. If there is none, it is skipped when it uses the value, but may find that the setting is there.
 */
export function loadConfig<S extends Settings>(
  settings: S,
  env: Readonly<Record<string, string | undefined>>,
  ...checks: readonly Rule<ConfigOf<S>>[]
): ConfigOf<S> {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  const failed = new Set<string>()
  for (const [key, setting] of Object.entries(settings)) {
    const name = setting.env.find((candidate) => (env[candidate] ?? '') !== '')
    values[key] = setting.fallback
    if (name === undefined) {
      if (!setting.required) continue
      problems.push(`${setting.env.join(' or ')} is required: ${setting.doc}`)
    } else {
      try {
        values[key] = setting.parse(env[name] ?? '')
        if (!isDevelopmentSecret(setting, env[name], env['NODE_ENV'])) continue
        problems.push(`${name} holds a secret marked ${DEVELOPMENT_MARK}, which is refused in production`)
      } catch (error) {
        problems.push(`${name} ${error instanceof Error ? error.message : 'is not valid'}`)
      }
    }
    failed.add(key)
  }
  // A check needs all of its settings. An invalid one is already reported.
  const guarded = new Proxy(values, {
    get(target, key) {
      const setting = settings[String(key)]
      if (!setting || !failed.has(String(key)) || target[String(key)] !== undefined)
        return target[String(key)]
      if (setting.required) throw new SettingMissing()
      return UNUSABLE
    },
  })
  for (const check of checks) {
    try {
      problems.push(...check(guarded as ConfigOf<S>))
    } catch (error) {
      if (!(error instanceof SettingMissing)) throw error
    }
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze(values) as ConfigOf<S>
}

/** Marks the secrets in this repository, so that production never accepts them. */
const DEVELOPMENT_MARK = 'development-only'

const isDevelopmentSecret = (setting: Setting<unknown>, raw = '', nodeEnv = '') =>
  setting.secret && nodeEnv.toLowerCase() === 'production' && raw.includes(DEVELOPMENT_MARK)

class SettingMissing extends Error {}

const skipCheck = (): never => {
  throw new SettingMissing()
}

/** Stands for an invalid value of an optional setting: a check can only see that there is one. */
const UNUSABLE: unknown = new Proxy({}, { get: skipCheck, has: skipCheck, ownKeys: skipCheck })

import type { Logger } from '@signet/telemetry'
import { runCommandLine, type Command } from './command-line.js'
import type { Service } from './service.js'
import { endOnSignals } from './stop-signals.js'

export type { Command } from './command-line.js'

/** What differs between services. `serve`, `migrate`, `version`, `--help` and the bare command are the same for all. */
export type ServiceCommands<Config> = {
  service: { readonly name: string; readonly version: string }
  /** The command that the package installs, if it has one. */
  program?: string
  /** Value of `component` in log lines. */
  component: string
  /** Throws or rejects with every problem of the configuration. */
  readConfig: () => Config | Promise<Config>
  /** What `serve` does, for `--help`. */
  summary: string
  serve: (config: Config) => Promise<Service>
  /** Only for a service that owns a database. */
  migrate?: (log: Logger) => Promise<unknown>
  /** Further commands. */
  commands?: Readonly<Record<string, Command>>
}

/**
 * Runs the process of a service. Without a command, it migrates its database, if it owns one, and serves. The configuration is read
 * first, so that nothing happens if it is invalid. Each command loads its modules when it runs, because loading a service takes longer
 * than running `--help`, `version` or `migrate`.
 */
export async function runServiceCommands<Config>(options: ServiceCommands<Config>): Promise<void> {
  const { service, program, component, summary, readConfig, serve, migrate, commands } = options
  const start = async () => (await processes()).runService(component, async () => serve(await readConfig()))
  const migrateAndStart = async (run: (log: Logger) => Promise<unknown>) => {
    const { runService, withLogger } = await processes()
    await runService(component, async () => {
      const config = await readConfig()
      await withLogger(component, run)
      return serve(config)
    })
  }
  await runCommandLine(
    {
      service,
      program,
      commands: {
        serve: { summary, run: start },
        ...endedBySignals({
          ...(migrate && {
            migrate: {
              summary: 'Bring the database to the schema of this version.',
              run: async () => (await processes()).runTask(component, migrate),
            },
          }),
          ...commands,
        }),
      },
      bare: migrate
        ? { summary: 'Migrate, then serve.', run: () => migrateAndStart(migrate) }
        : { summary: 'Serve.', run: start },
    },
    process.argv.slice(2),
  )
}

const endedBySignals = (commands: Readonly<Record<string, Command>>): Record<string, Command> =>
  Object.fromEntries(
    Object.entries(commands).map(([name, command]) => {
      const run = (args: readonly string[]) => {
        endOnSignals()
        return command.run(args)
      }
      return [name, { ...command, run }]
    }),
  )

const processes = () => import('./service.js')

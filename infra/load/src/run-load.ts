import { HELP, readOptions, WrongOptions, type Options } from './options.js'
import { publish } from './publisher.js'
import { startReceiver } from './receiver.js'
import { isComplete, reportOf, textOf, type Report } from './report.js'

/** The command: prints a report and returns the exit code. */
export async function runLoad(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const options = readOptions(args, env)
    if (options === null) {
      console.log(HELP)
      return 0
    }
    const report = await measure(options)
    console.log(options.json ? JSON.stringify(report) : textOf(report))
    return isComplete(report) ? 0 : 1
  } catch (error) {
    if (!(error instanceof WrongOptions)) throw error
    console.error(`${error.message}\n\nnpm run load -- --help`)
    return 2
  }
}

async function measure(options: Options): Promise<Report> {
  const receiver = options.receiver && (await startReceiver(options.receiver))
  try {
    const published = await publish(options)
    await receiver?.untilArrived(published.accepted.keys())
    return reportOf(published, receiver)
  } finally {
    await receiver?.close()
  }
}

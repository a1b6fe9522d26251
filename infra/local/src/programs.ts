import { delimiter } from 'node:path'
import which from 'which'

/** All programs of these names: those on the PATH, then those in further folders. A name may be a path. */
export function findPrograms(
  names: readonly string[],
  path: string | undefined,
  furtherFolders: readonly string[] = [],
): string[] {
  const folders = [...(path ? [path] : []), ...furtherFolders].join(delimiter)
  return names.flatMap((name) => which.sync(name, { all: true, nothrow: true, path: folders }) ?? [])
}

/** For the error where there is none: what was tried, and the ways out. */
export const noServer = (name: string, tried: readonly string[], waysOut: readonly string[]): Error =>
  new Error(
    [
      `No ${name} was found or fetched.`,
      ...tried.map((line, index) => `  ${index === 0 ? 'tried:' : '      '} ${line}`),
      ...waysOut.map(
        (line, index) => `  ${index === 0 ? 'Fix:' : '    '} ${index === 0 ? '' : 'or '}${line}`,
      ),
    ].join('\n'),
  )

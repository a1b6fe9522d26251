import { delimiter } from 'node:path'
import which from 'which'

/** Finds all programs with these names: those on the PATH, then those in further folders. A name may be a path. */
export function findPrograms(
  names: readonly string[],
  path: string | undefined,
  furtherFolders: readonly string[] = [],
): string[] {
  const folders = [...(path ? [path] : []), ...furtherFolders].join(delimiter)
  return names.flatMap((name) => which.sync(name, { all: true, nothrow: true, path: folders }) ?? [])
}

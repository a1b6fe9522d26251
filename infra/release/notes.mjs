// `node infra/release/notes.mjs v1.2.3`: checks that every package and change log is at the version of a tag, and prints the notes of
// the release. If anything is missing, names all of it and exits with 1.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const PUBLISHED = ['packages/cli', 'packages/webhook-verify']

/** Returns what is wrong with the repository in `root` for this tag, and the notes of the release. */
export function releaseOf(root, tag) {
  const version = /^v(\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?)$/.exec(tag)?.[1]
  if (version === undefined)
    return { problems: [`${tag} is not a version: a tag is v1.2.3 or v1.2.3-rc.1`], notes: '' }
  const folders = ['.', 'infra/local', ...within(root, 'apps'), ...within(root, 'packages')]
  const problems = folders.flatMap((folder) => {
    const found = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')).version
    return found === version ? [] : [`${join(folder, 'package.json')} says ${found}, not ${version}`]
  })
  const sections = [...within(root, 'apps'), ...PUBLISHED].map((folder) => {
    const section = sectionOf(readFileSync(join(root, folder, 'CHANGELOG.md'), 'utf8'), version)
    if (section === '') problems.push(`${join(folder, 'CHANGELOG.md')} says nothing about ${version}`)
    return `## ${folder}\n\n${section}\n`
  })
  return { problems, notes: sections.join('\n') }
}

const within = (root, folder) =>
  readdirSync(join(root, folder))
    .map((name) => `${folder}/${name}`)
    .filter((path) => existsSync(join(root, path, 'package.json')))

/** Returns the text below `## <version>`, up to the next heading of that level. */
function sectionOf(changeLog, version) {
  const [, ...sections] = changeLog.split(/^## /m)
  const section = sections.find((text) => text.split('\n', 1)[0].split(' ')[0] === version)
  return section === undefined ? '' : section.slice(section.indexOf('\n')).trim()
}

if (process.argv[1] === import.meta.filename) {
  const { problems, notes } = releaseOf(process.cwd(), process.argv[2] ?? '')
  for (const problem of problems) console.error(problem)
  if (problems.length === 0) console.log(notes)
  process.exitCode = problems.length > 0 ? 1 : 0
}

// Checks the form of decision records, which the index in infra/decisions/README.md describes: a heading "# 0000 Title", then the
// sections below and no others, and no bold label in place of a section. A number that the index lists as superseded has no file.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../local/bootstrap.mjs'

const { values } = parseArgs({
  options: { folder: { type: 'string', default: join(root, 'infra/decisions') } },
})

const REQUIRED = ['Context', 'Decision']
const SECTIONS = [...REQUIRED, 'Consequences', 'Considered']
const LABEL =
  /^\*\*(Question|Problem|Context|Choice|Decision|Why|Trade-off|Consequences?|Considered|Rejected|Supersede[sd]( in part)?)[.:]?\*\*/

const names = readdirSync(values.folder).filter((name) => /^\d{4}-.*\.md$/.test(name))
const problems = [...names.flatMap(problemsOf), ...supersededProblems()]
for (const problem of problems) console.log(problem)
process.exitCode = problems.length > 0 ? 1 : 0

function problemsOf(name) {
  const lines = proseOf(read(name))
  const found = []
  const report = (index, problem) => found.push(`${name}:${index + 1}  ${problem}`)

  if (!lines[0]?.startsWith(`# ${name.slice(0, 4)} `))
    report(0, `the heading must begin with "# ${name.slice(0, 4)} "`)
  const firstText = lines.findIndex((line, index) => index > 0 && line.trim() !== '')
  if (!lines[firstText]?.startsWith('## ')) report(Math.max(firstText, 0), 'text before the first section')

  const sections = lines.flatMap((line, index) =>
    line.startsWith('## ') ? [{ title: line.slice(3), index }] : [],
  )
  for (const [nth, { title, index }] of sections.entries()) {
    const place = SECTIONS.indexOf(title)
    if (place === -1) report(index, `"## ${title}" is not one of ${SECTIONS.join(', ')}`)
    else if (sections.slice(0, nth).some((before) => SECTIONS.indexOf(before.title) >= place))
      report(index, `"## ${title}" is repeated or out of order: ${SECTIONS.join(', ')}`)
  }
  for (const title of REQUIRED)
    if (!sections.some((section) => section.title === title)) report(0, `there is no section "## ${title}"`)

  for (const [index, line] of lines.entries()) {
    const label = LABEL.exec(line)
    if (label) report(index, `${label[0]} stands for a section: write a heading`)
  }
  return found
}

/** Returns the lines of a file, with code blocks left blank. */
function proseOf(text) {
  let isCode = false
  return text.split('\n').map((line) => {
    if (line.startsWith('```')) isCode = !isCode
    return isCode ? '' : line
  })
}

/** A superseded record is merged into the record that supersedes it, and deleted. The last column of the index names it. */
function supersededProblems() {
  const rows = read('README.md').matchAll(/^\| (\d{4}) +\|.*\|([ \d,]*)\|$/gm)
  return [...rows].flatMap(([, number, superseded]) =>
    (superseded.match(/\d{4}/g) ?? []).flatMap((old) => {
      const name = names.find((each) => each.startsWith(`${old}-`))
      return name ? [`${name}:1  is superseded by ${number}: merge it and delete it`] : []
    }),
  )
}

function read(name) {
  return readFileSync(join(values.folder, name), 'utf8')
}

// Words that a reader would stumble over, in Markdown, in comments, and in the subjects of commits that are not pushed yet. What is
// quoted or code is left alone. CONTRIBUTING says how we write; this finds what came back most often.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from '../local/bootstrap.mjs'

const PHRASES = [
  [/\bdear(er|est)\b/i, 'say slower, or more expensive'],
  [/\bin vain\b/i, 'say what did not happen'],
  [/\btells? of\b/i, 'say report, or name'],
  [/\blook(s|ed)? after\b/i, 'say manage, or handle'],
  [/\bstep(s|ped)? back\b/i, 'say requeue, defer or lower'],
  [/\b(no|taken?|takes) leave (of|to)\b/i, 'say must not, or lose'],
  [/\bat the door\b/i, 'say on arrival, or before it is read'],
  [/\bin hand\b/i, 'say held, taken or open'],
  [/\bsuch a one\b/i, 'name it'],
  [/\bif need be\b/i, 'say if necessary'],
  [/\bof late\b/i, 'say recently'],
  [/\bto be had\b/i, 'say available'],
  [/\bis at it\b/i, 'say what it does'],
  [/\bsees? to it\b/i, 'say make sure, or fix'],
  [/\b(is|are) to be\b/i, 'say must be, or will be'],
  [/\bwhat there is to\b/i, 'name it'],
  [/\brow of failures\b/i, 'say consecutive failures'],
  [/\bas [A-Z]\w+ has it\b/, 'say as … says'],
  [/\b(thereby|thereof|therein|wherein|whereby|whereof|hence|upon|nowadays)\b/i, 'say it in modern English'],
  [/\be-mails?\b/i, 'say email'],
]
/** `there is no row` is English, `no faster` and `no longer` are, `it is no row` is not. */
const NO_NOUN = [
  /(?<!\bthere )\b(is|are|was|were) no (?!longer|more|less|[a-z]+er\b)[a-z]+/i,
  'say is not a …',
]

const COMMENT = /\/\/ .*|^\s*\/?\*.*/
const CODE = /\.(ts|mjs|cjs|js)$/
const SKIPPED = /(^|\/)(LICENSE|CHANGELOG\.md)$|^infra\/checks\/words\.mjs$/

const { output: listed } = await run('git', ['ls-files'])
const files = listed
  .split('\n')
  .filter((path) => /\.md$/.test(path) || CODE.test(path))
  .filter((path) => !SKIPPED.test(path) && existsSync(join(root, path)))

const problems = [...files.flatMap(problemsOf), ...(await subjects()).flatMap(inSubject)]
for (const problem of problems) console.log(problem)
process.exitCode = problems.length > 0 ? 1 : 0

function problemsOf(path) {
  const isCode = CODE.test(path)
  const lines = readFileSync(join(root, path), 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    const text = isCode ? (COMMENT.exec(line)?.[0] ?? '') : line
    return found(text, isCode ? PHRASES : [...PHRASES, NO_NOUN]).map(
      (problem) => `${path}:${index + 1}  ${problem}`,
    )
  })
}

function inSubject(subject) {
  return found(subject, [...PHRASES, NO_NOUN]).map((problem) => `commit "${subject}"  ${problem}`)
}

function found(text, phrases) {
  const plain = text.replaceAll(/`[^`]*`|"[^"]*"|\([^)\s]*\)/g, '')
  return phrases.flatMap(([phrase, advice]) => {
    const match = phrase.exec(plain)
    return match ? [`"${match[0]}": ${advice}`] : []
  })
}

/** Subjects that can still be changed; none if it is unknown what has been pushed. */
async function subjects() {
  const { ok, output } = await run('git', ['log', '--format=%s', 'origin/main..HEAD', '--'])
  return ok ? output.split('\n').filter(Boolean) : []
}

// Finds words that a reader would stumble over in Markdown, YAML, comments, English texts, titles of tests, and in the subjects of
// commits that are not pushed yet.
// Ignores quotes and code. CONTRIBUTING says how we write; this finds the most frequent mistakes.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../local/bootstrap.mjs'
import { run } from './run.mjs'

const { values } = parseArgs({ options: { folder: { type: 'string', default: root } } })
const { folder } = values

const PHRASES = [
  [/\bdear(er|est)\b/i, 'say slower, or more expensive'],
  [/\bin vain\b/i, 'say what did not happen'],
  [/\btells? of\b/i, 'say report, or name'],
  [/\blook(s|ed)? after\b/i, 'say manage, or handle'],
  [/\bstep(s|ped)? back\b/i, 'say requeue, defer or lower'],
  [/\b(no|take[ns]?|took|taking) leave (of|to)\b/i, 'say must not, or lose'],
  [/\bat the door\b/i, 'say on arrival, or before it is read'],
  [/\bin hand\b/i, 'say held, taken or open'],
  [/\bsuch a one\b/i, 'name it'],
  [/\bif need be\b/i, 'say if necessary'],
  [/\bof late\b/i, 'say recently'],
  [/\bany more(?! (than|of|[a-z]+s)\b)\b/i, 'say anymore, or no longer'],
  [/\bfull stops?\b/i, 'say period'],
  [/\bby comma\b/i, 'say comma-separated'],
  [/\bbe had\b/i, 'say available'],
  [/\bis at it\b/i, 'say what it does'],
  [/\bsees? to it\b/i, 'say make sure, or fix'],
  [/\b(is|are|was|were)( not)? to be\b/i, 'say must be, or will be'],
  [/\bwhat there is to\b/i, 'name it'],
  [/\brow of failures\b/i, 'say consecutive failures'],
  [/\bas [A-Z]\w+ has it\b/, 'say as … says'],
  [/\b(thereby|thereof|therein|wherein|whereby|whereof|hence|upon|nowadays)\b/i, 'say it in modern English'],
  [/\bmend(s|ed|ing)?\b/i, 'say fix, or repair'],
  [/\binside of\b/i, 'say inside'],
  [/\bbelongs? into\b/i, 'say belongs in'],
  [/\bg(et|ets|ot|etting) to know\b/i, 'say is told, or sees'],
  [/\banew\b/i, 'say again'],
  [/\bin the midst of\b/i, 'say in the middle of'],
  [/\b(hears?|heard|learn(s|ed)?) of\b/i, 'say hears from, or is told about'],
  [/\be-mails?\b/i, 'say email'],
  // Earlier names in this service, before it used the terms of its field.
  [/\bjudg(e|es|ed|ing|ment)\b/i, 'say check, or decide'],
  [/\bpatien(ce|tly)\b/i, 'say retries, or slowly'],
  [/\blanes?\b/i, 'say endpoint limiter, or permit'],
  [/\bdialects?\b/i, 'say format, or error renderer'],
  [/\bdesks?\b/i, 'say request context'],
  [/\b(error|last) words?\b/i, 'say failure reason'],
  [/\bunwanted e?mails?\b/i, 'say spam'],
  // `there is no row` is English, `no faster` and `no longer` are, `it is no row` is not.
  [/(?<!\bthere )\b(is|are|was|were) no (?!longer|more|less|[a-z]+er\b)[a-z]+/i, 'say is not a …'],
]

/**
 * American spelling, also within names in code. `cancelled` and `catalogue` are spelled this way everywhere, as in the API. Speech in
 * sample recordings is exempt.
 */
const SPELLINGS = [
  [/colour/i, 'color'],
  [/behaviour/i, 'behavior'],
  [/(hon|fav|neighb|lab|rum)our/i, '…or'],
  [/defence/i, 'defense'],
  [/licence/i, 'license'],
  [/(analy|cataly)se(d|s)?\b/i, 'analyze'],
  [
    /(organ|recogn|normal|initial|serial|optim|summar|anonym|author|categor|central|custom|emphas|final|general|local|maxim|minim|prior|random|real|special|standard|synchron|util|capital)is(e|ing|ation)/i,
    '…ize',
  ],
  [/(dia|label|model|signal|travel|tunnel|channel)ll(ed|ing)/i, 'one l'],
  // PostgreSQL uses one l.
  [/(?<!query_)cancel(ed|ing(?! statement)|er)/i, 'cancelled'],
  [/fulfil(?!l)|enrolment/i, 'fulfill, enrollment'],
  [/(acknowledg|judg)ement/i, '…gment'],
  [/\btowards\b/i, 'toward'],
  [/\bfor ever\b/i, 'forever'],
  [/\b(centre|metre|litre|theatre|grey|programme)s?\b/, 'American spelling'],
]

/** The part of a line that is checked, in files of each kind: the last group of the match, if there is one. */
const KINDS = [
  { name: /\.(md|ya?ml)$/, text: /.*/ },
  { name: /\.en\.json$/, text: /^\s*"[^"]*": "(.*)"/ },
  { name: /\.test\.ts$/, text: /\/\/ .*|^\s*\/?\*.*|(?:\b(?:it|describe)|\)|\])\(\s*'(.*?)',/ },
  { name: /\.(ts|mjs|cjs|js|mts)$/, text: /\/\/ .*|^\s*\/?\*.*/ },
  { name: /\.sql$/, text: /-- .*/ },
]
/** Includes migrations, because those that have run must stay as they are. */
const SKIPPED =
  /(^|\/)(LICENSE|pnpm-lock\.yaml)$|(^|\/)migrations\/|^infra\/(checks\/words\.mjs|local\/test\/words-check\.test\.ts)$/

const { output: listed } = await run('git', ['-C', folder, 'ls-files'])
const files = listed.split('\n').filter((path) => !SKIPPED.test(path) && existsSync(join(folder, path)))

const problems = [...files.flatMap(problemsOf), ...(await subjects()).flatMap(inSubject)]
for (const problem of problems) console.log(problem)
process.exitCode = problems.length > 0 ? 1 : 0

function problemsOf(path) {
  const kind = KINDS.find(({ name }) => name.test(path))
  if (!kind) return []
  const lines = readFileSync(join(folder, path), 'utf8').split('\n')
  return lines.flatMap((line, index) =>
    [...found(textOf(kind.text.exec(line))), ...matching(SPELLINGS, line)].map(
      (problem) => `${path}:${index + 1}  ${problem}`,
    ),
  )
}

function textOf(match) {
  return match?.at(-1) ?? match?.[0] ?? ''
}

function inSubject(subject) {
  return [...found(subject), ...matching(SPELLINGS, subject)].map(
    (problem) => `commit "${subject}"  ${problem}`,
  )
}

function found(text) {
  const plain = text.replaceAll(/`[^`]*`|"[^"]*"|\([^)\s]*\)/g, '')
  return matching(PHRASES, plain)
}

function matching(phrases, text) {
  return phrases.flatMap(([phrase, advice]) => {
    const match = phrase.exec(text)
    return match ? [`"${match[0]}": ${advice}`] : []
  })
}

/** Subjects that can still be changed. None if it is unknown what has been pushed. */
async function subjects() {
  const { ok, output } = await run('git', ['-C', folder, 'log', '--format=%s', 'origin/main..HEAD', '--'])
  return ok ? output.split('\n').filter(Boolean) : []
}

// Statements of stores that touch rows of accounts must name the account, or a secret of its owner, in their SQL (decision 0143).
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MIGRATIONS = fileURLToPath(new URL('../../apps/webhooks/migrations', import.meta.url))
/** A table belongs to accounts unless it is one of these. */
const OF_NO_ACCOUNT = new Set(['ended_identity_sessions', 'oauth_clients', 'operator_actions'])
const TABLES = new Set(
  readdirSync(MIGRATIONS)
    .map((file) => readFileSync(join(MIGRATIONS, file), 'utf8'))
    .flatMap((sql) => [...sql.matchAll(/^create table (\w+)/gm)])
    .map(([, name]) => name)
    .filter((name) => !OF_NO_ACCOUNT.has(name)),
)

const STATEMENT = /^\s*(with|select|insert\s+into|update|delete\s+from)\s/
/** Stands for a text that only the running program knows. It may be a table. */
const UNKNOWN = '?unknown?'
const TABLE = /\b(?:from|join|into|update|using)\s+(?:only\s+)?([\w?]+)/g
const OWNER = String.raw`(?:account_id|(?:code|id|session|token|txn)_hash)`
const OWNER_COLUMN = new RegExp(`^${OWNER}$`)
/** Matches a column that is compared with a parameter, or joined with references that are parameters. */
const BOUND = new RegExp(
  [
    String.raw`\b${OWNER}\s*=\s*(?:any\s*\(\s*)?\$\d`,
    String.raw`\bunnest\s*\(\s*\$\d[^;]*?\bas\s+\w+\s*\(\s*account_id\b`,
  ].join('|'),
)
const INSERT =
  /\binsert\s+into\s+\w+\s*\(([^)]*)\)\s*(?:overriding system value\s+)?(?:values\s*\(|select\s)/g
/** More combinations of parts than this are not checked. */
const MAX_VARIANTS = 64

/** `options.exempt`: exceptions, as `{ file, name, because }`. */
export const accountInStores = {
  meta: { schema: false },
  create(context) {
    const exempt = (context.options[0]?.exempt ?? []).filter(({ file }) => context.filename.endsWith(file))
    const reported = new Set()
    const check = (node) => {
      const open = variantsOf(node, context.filename).filter(isOpen)
      const owner = open.length > 0 ? declarationOf(node) : undefined
      if (!owner || reported.has(owner.node)) return
      reported.add(owner.node)
      if (!exempt.some(({ name }) => name === owner.name))
        context.report({ node: owner.node, message: MESSAGE })
    }
    return {
      Literal: check,
      TemplateLiteral: check,
      'Program:exit'(node) {
        const names = [...reported].map((declared) => nameOf(declared))
        for (const { name } of exempt)
          if (!names.includes(name))
            context.report({ node, message: `${name} needs no exemption: remove it from .oxlintrc.json.` })
      },
    }
  },
}

const MESSAGE =
  'Compare account_id, or the hash of a secret that its owner has, with a parameter in each statement. An exception says why.'

/** Returns whether this is a statement on rows of accounts that does not name the account. */
function isOpen(text) {
  const sql = text.replaceAll(/--.*/g, '')
  if (!STATEMENT.test(sql)) return false
  const tables = [...sql.matchAll(TABLE)].map(([, name]) => name)
  return (
    tables.some((name) => TABLES.has(name) || name.includes(UNKNOWN)) &&
    !BOUND.test(sql) &&
    !insertsOwner(sql)
  )
}

/** Returns whether a new row gets its owner from a parameter. */
function insertsOwner(sql) {
  return [...sql.matchAll(INSERT)].some((match) => {
    const columns = match[1].split(',').map((name) => name.trim())
    const values = valuesIn(sql.slice(match.index + match[0].length))
    return columns.some((name, i) => OWNER_COLUMN.test(name) && /^\s*\$\d/.test(values[i] ?? ''))
  })
}

/** The items of a comma-separated list of expressions, up to its end. */
function valuesIn(sql) {
  const values = ['']
  let depth = 0
  for (const character of sql) {
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth < 0) break
    if (character === ',' && depth === 0) values.push('')
    else values[values.length - 1] += character
  }
  return values
}

/** Returns the function, method or constant of a module that contains this node. */
function declarationOf(node) {
  for (let at = node; at; at = at.parent) {
    const name = nameOf(at)
    if (name !== undefined) return { node: at, name }
  }
  return undefined
}

function nameOf(node) {
  const inModule = node.parent?.type === 'Program' || node.parent?.type === 'ExportNamedDeclaration'
  if (node.type === 'FunctionDeclaration' && inModule) return node.id.name
  if (node.type === 'MethodDefinition' || node.type === 'PropertyDefinition')
    return `${node.parent.parent.id?.name}.${node.key.name}`
  if (node.type !== 'VariableDeclarator') return undefined
  const { parent } = node.parent
  return parent.type === 'Program' || parent.type === 'ExportNamedDeclaration' ? node.id.name : undefined
}

/** Returns the texts that an expression may have, as far as its file and the constants that it imports show. */
function variantsOf(node, filename, depth = 0) {
  const next = (part) => (depth > 8 ? [UNKNOWN] : variantsOf(part, filename, depth + 1))
  switch (node.type) {
    case 'Literal':
      return [typeof node.value === 'string' ? node.value : UNKNOWN]
    case 'TemplateLiteral':
      return joined(node.quasis.flatMap(({ value }, i) => [[value.cooked], next(node.expressions[i] ?? END)]))
    case 'ConditionalExpression':
      return [...next(node.consequent), ...next(node.alternate)]
    case 'CallExpression':
      return node.callee.type === 'Identifier' ? next(node.callee) : [UNKNOWN]
    case 'ArrowFunctionExpression':
      return node.body.type === 'BlockStatement' ? returnsOf(node.body).flatMap(next) : next(node.body)
    case 'FunctionDeclaration':
      return returnsOf(node.body).flatMap(next)
    case 'Identifier': {
      const found = declared(node)
      if (found?.type === 'ImportSpecifier') return [importedText(found, filename)]
      return found ? found.flatMap(next) : [UNKNOWN]
    }
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
      return next(node.expression)
    default:
      return [UNKNOWN]
  }
}

const END = { type: 'Literal', value: '' }

/** Returns every combination of the variants of a text's parts. */
function joined(parts) {
  let texts = ['']
  for (const variants of parts)
    texts = texts.flatMap((text) => variants.map((variant) => text + variant)).slice(0, MAX_VARIANTS)
  return texts
}

function returnsOf(node) {
  if (!node || typeof node.type !== 'string') return []
  if (node.type === 'ReturnStatement') return node.argument ? [node.argument] : []
  if (/Function/.test(node.type)) return []
  const children = Object.entries(node).flatMap(([key, value]) => (key === 'parent' ? [] : value))
  return children.flatMap((child) => (typeof child === 'object' ? returnsOf(child) : []))
}

/** Returns what a name means at this place: expressions, or the import that it comes from. */
function declared(identifier) {
  for (let scope = identifier.parent; scope; scope = scope.parent) {
    if (scope.params?.some((param) => param.name === identifier.name)) return argumentsOf(scope, identifier)
    const statements = Array.isArray(scope.body) ? scope.body : []
    for (const statement of statements) {
      const found = declaredIn(statement, identifier.name)
      if (found) return found
    }
  }
  return undefined
}

function declaredIn(statement, name) {
  if (statement.type === 'ImportDeclaration')
    return statement.specifiers.find(({ local, type }) => local.name === name && type === 'ImportSpecifier')
  const declaration = statement.declaration ?? statement
  if (declaration.type === 'FunctionDeclaration' && declaration.id?.name === name) return [declaration]
  const variable = declaration.declarations?.find(({ id }) => id.name === name)
  return variable?.init ? [variable.init] : undefined
}

/** Returns the arguments with which a function is called that is private to its file. */
function argumentsOf(called, { name }) {
  const functionName = called.id?.name ?? called.parent.id?.name
  const at = called.params.findIndex((param) => param.name === name)
  let program = called
  while (program.parent) program = program.parent
  const calls = callsOf(program, functionName)
  return calls.length > 0 ? calls.map((call) => call.arguments[at] ?? END) : undefined
}

function callsOf(node, name) {
  if (!node || typeof node.type !== 'string') return []
  const children = Object.entries(node).flatMap(([key, value]) => (key === 'parent' ? [] : value))
  const inside = children.flatMap((child) => (typeof child === 'object' ? callsOf(child, name) : []))
  return node.type === 'CallExpression' && node.callee.name === name ? [node, ...inside] : inside
}

/** Returns the text of a constant in a file next to this one. */
function importedText(specifier, filename) {
  const source = specifier.parent.source.value
  const path = join(dirname(filename), dirname(source), basename(source).replace(/\.js$/, '.ts'))
  if (!source.startsWith('.') || !existsSync(path)) return UNKNOWN
  const constant = new RegExp(String.raw`\bconst ${specifier.imported.name} =\s*(['"\`])([^]*?)\1`)
  return constant.exec(readFileSync(path, 'utf8'))?.[2] ?? UNKNOWN
}

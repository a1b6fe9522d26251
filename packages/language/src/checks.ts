import { readdirSync, readFileSync } from 'node:fs'
import { IntlMessageFormat } from 'intl-messageformat'
import { DEFAULT_LANGUAGE, languages, type Language } from './languages.js'

type Messages = Readonly<Record<string, string>>
type Element = ReturnType<IntlMessageFormat['getAst']>[number]

/**
 * For tests. Returns what is wrong with the catalogues: messages that are missing, superfluous or malformed, or that take other
 * arguments than in English.
 */
export function catalogueFaults(catalogues: Readonly<Record<Language, Messages>>): string[] {
  const original = catalogues[DEFAULT_LANGUAGE]
  return languages.flatMap((language) => {
    const messages = catalogues[language]
    return [
      ...Object.keys(original)
        .filter((key) => !Object.hasOwn(messages, key))
        .map((key) => `${language}: ${key} is missing`),
      ...Object.entries(messages).flatMap(([key, message]) =>
        faultsOf(message, original[key], language).map((fault) => `${language}: ${key} ${fault}`),
      ),
    ]
  })
}

function faultsOf(message: string, original: string | undefined, language: Language): string[] {
  if (original === undefined) return ['is in no other language']
  if (message.trim() !== message || message === '') return ['is empty, or has space around it']
  try {
    const [here, there] = [argumentsOf(message, language), argumentsOf(original, DEFAULT_LANGUAGE)]
    return here === there ? [] : [`takes [${here}] instead of [${there}]`]
  } catch (error) {
    return [`cannot be read: ${String(error)}`]
  }
}

const argumentsOf = (message: string, language: Language): string =>
  [...new Set(namesIn(new IntlMessageFormat(message, language).getAst()))].sort().join(', ')

/** Names of arguments and tags, including those inside plurals and selections. */
const namesIn = (elements: readonly Element[]): string[] =>
  elements.flatMap((element) => [
    ...('value' in element && isNamed(element) ? [element.value] : []),
    ...('children' in element ? namesIn(element.children) : []),
    ...('options' in element ? Object.values(element.options).flatMap(({ value }) => namesIn(value)) : []),
  ])

/** Literal text is the only element whose `value` is not a name. */
const LITERAL = 0
const isNamed = ({ type }: Element): boolean => Number(type) !== LITERAL

/**
 * For tests. Returns the keys that no source file below a folder names. Keys that code builds, such as `error.${kind}`, count as named
 * if they start with one of `composed`.
 */
export function unusedKeys(keys: readonly string[], folder: URL, composed: readonly string[] = []): string[] {
  const code = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => readFileSync(new URL(path, folder), 'utf8'))
    .join('\n')
  return keys.filter(
    (key) => !code.includes(`'${key}'`) && !composed.some((beginning) => key.startsWith(beginning)),
  )
}

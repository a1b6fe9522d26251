import { styleText } from 'node:util'

export type Color = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold'
/** Colors the text if the stream shows colors, otherwise returns it unchanged. */
export type Paint = (color: Color, text: string) => string

type Stream = { isTTY?: boolean }

/** NO_COLOR (any value) takes precedence, then FORCE_COLOR, then whether the stream is a terminal that shows colors. */
export function paintFor(stream: Stream, env: Readonly<Record<string, string | undefined>>): Paint {
  return wantsColor(stream, env)
    ? (color, text) => styleText(color, text, { validateStream: false })
    : (_, text) => text
}

function wantsColor(stream: Stream, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['NO_COLOR']) return false
  if (env['FORCE_COLOR']) return env['FORCE_COLOR'] !== '0'
  return stream.isTTY === true && env['TERM'] !== 'dumb'
}

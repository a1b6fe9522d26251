type Rgb = readonly [number, number, number]

/** WCAG 2.2 criterion 1.4.3, for text of normal size. */
export const READABLE = 4.5

const rgbOf = (hex: string): Rgb => {
  const at = (index: number) => parseInt(hex.slice(1 + 2 * index, 3 + 2 * index), 16)
  return [at(0), at(1), at(2)]
}

const hexOf = (rgb: Rgb): string =>
  `#${rgb.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`

/** WCAG 2.2, relative luminance. */
function luminance(hex: string): number {
  const [red, green, blue] = rgbOf(hex).map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Contrast ratio, from 1 (same color) to 21 (black on white). */
export function contrast(one: string, other: string): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (lighter + 0.05) / (darker + 0.05)
}

/** The color, or the first lighter shade of it that is readable on all of the grounds. */
export function readableOn(hex: string, grounds: readonly string[]): string {
  const shades = Array.from({ length: 21 }, (_, step) => mixedWithWhite(hex, step / 20))
  return shades.find((shade) => grounds.every((ground) => contrast(shade, ground) >= READABLE)) ?? '#ffffff'
}

const mixedWithWhite = (hex: string, share: number): string => {
  const [red, green, blue] = rgbOf(hex)
  const mixed = (channel: number) => channel + (255 - channel) * share
  return hexOf([mixed(red), mixed(green), mixed(blue)])
}

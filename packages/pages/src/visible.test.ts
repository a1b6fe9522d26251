import { expect, it } from '@jest/globals'
import { withoutInvisible } from './visible.js'

it.each([
  ['\u202Egpj.exe\u202C', 'gpj.exe'],
  ['\u2066a\u2067b\u2068c\u2069', 'abc'],
  ['\u200e\u200f\u061cx', 'x'],
  ['pay\u200bpal\ufeff\u2060\u00ad', 'paypal'],
  ['two\nlines\u2028and\u2029more\u0000', 'twolinesandmore'],
  ['tag\u{e0041}ged\ud800', 'tagged'],
  ['\u3164 \u115f\u1160\uffa0', ' '],
  ['a\u2800b\ue000c\u{f0000}d\ufffee\ufdd0f\u{1ffff}', 'abcdef'],
  ['\ufe0f\u034f\u{e0100}\u17b4x', 'x'],
  ['Zoë’s מחשב 東京 💻', 'Zoë’s מחשב 東京 💻'],
])('leaves of %j what can be seen', (text, visible) => expect(withoutInvisible(text)).toBe(visible))

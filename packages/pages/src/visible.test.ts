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
  ['Zoë’s מחשב 東京 💻', 'Zoë’s מחשב 東京 💻'],
])('leaves of %j what can be seen', (text, visible) => expect(withoutInvisible(text)).toBe(visible))

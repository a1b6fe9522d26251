// Tests import this as `@jest/globals`. Modules that many files share may keep one of these functions, as `describeInBrowser` of the
// testkit does, so each function forwards to the one of the running file.
let current

export const afterAll = ofRunningFile('afterAll')
export const afterEach = ofRunningFile('afterEach')
export const beforeAll = ofRunningFile('beforeAll')
export const beforeEach = ofRunningFile('beforeEach')
export const describe = ofRunningFile('describe')
export const it = ofRunningFile('it')
export const test = ofRunningFile('test')
export let expect, jest

export function setGlobals(globals) {
  current = globals
  ;({ expect, jest } = globals)
}

function ofRunningFile(name) {
  return leadingTo(() => current[name])
}

function leadingTo(find) {
  return new Proxy(() => undefined, {
    apply: (_, self, args) => Reflect.apply(find(), self, args),
    get: (_, key) => (typeof find()[key] === 'function' ? leadingTo(() => find()[key]) : find()[key]),
  })
}

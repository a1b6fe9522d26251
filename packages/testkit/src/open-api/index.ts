export { checkedFetch } from './checked-fetch.js'
export { documentChecker, wrongExamples, type CheckedAnswer } from './document-checker.js'

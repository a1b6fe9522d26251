export { documentChecker, wrongExamples, type CheckedAnswer } from './document-checker.js'

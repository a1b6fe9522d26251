export { deliveryChecker, documentChecker, wrongExamples } from './document-checker.js'
export { refuseWrongAnswers } from './watch-answers.js'
export { UNDOCUMENTED, watchProcess } from './watch-process.js'

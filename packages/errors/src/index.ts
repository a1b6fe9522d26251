export { AppError, isAppError, kinds, type AppErrorOptions, type ErrorKind } from './app-error.js'

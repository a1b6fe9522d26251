// compile.mjs <tsconfig.build.json…>: writes the dist folders of projects and of all they refer to, as `tsc -b` does, but without looking at
// types: decision 0081.
import { resolve } from 'node:path'
import ts from 'typescript'

const problems = []
const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (problem) => problems.push(problem) }
const projects = new Set(process.argv.slice(2).map((path) => resolve(path)))
// References are added on the way, and a set hands out what is added to it meanwhile.
for (const path of projects) {
  const project = ts.getParsedCommandLineOfConfigFile(path, {}, host)
  if (project === undefined) continue
  for (const reference of project.projectReferences ?? [])
    projects.add(ts.resolveProjectReferencePath(reference))
  problems.push(...project.errors, ...compile(project))
}
if (problems.length > 0) {
  console.error(ts.formatDiagnostics(problems, ts.createCompilerHost({})))
  process.exitCode = 1
}

/** Each file by itself, which `isolatedModules` allows. */
function compile({ fileNames, options }) {
  const program = ts.createProgram({
    rootNames: fileNames,
    options: {
      ...options,
      ...{ noCheck: true, noLib: true, noResolve: true, types: [] },
      ...{ composite: false, incremental: false, tsBuildInfoFile: undefined },
      ...{ declaration: false, declarationMap: false },
    },
  })
  return [...program.getSyntacticDiagnostics(), ...program.emit().diagnostics]
}

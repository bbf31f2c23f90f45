// Package workflows serves the calls about workflows, their runs and their simulation (D19, D20).
//
// A handler decodes, executes and responds. A workflow is held to its schema, to the aggregate's
// rules, and to the engine, which compiles its condition; every violation is named at once (D3).
//
// The package must not know: how a workflow runs, how an answer is written.
package workflows

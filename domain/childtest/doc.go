// Package childtest ties the processes that tests start to the test's process: on Linux they end
// with it, also if it is killed.
//
// Rules:
//
//   - A test that starts a process wraps the command in Tied: childtest.Tied(exec.Command("go",
//     "build")). A command that has more to do at its end, as a script that removes its files, is
//     wrapped in TiedInOrder.
//   - Linux ends a child with the thread that started it. A thread of Go ends only if a goroutine
//     that locked it ends without unlocking it: no test, and no code that runs in the process of a
//     test, does that.
//   - The children of a child are not tied.
//
// The package must not know: anything of payledger.
package childtest

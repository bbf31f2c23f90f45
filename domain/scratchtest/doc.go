// Package scratchtest gives a test program one folder for its temporary files, in memory if the
// machine has room there. A program that imports it has TMPDIR set to this folder before its first
// test, so t.TempDir and os.MkdirTemp use it. The folder is removed when the process ends, also
// when it is killed.
//
// A test can kill a process, but it cannot cut the power: after a kill the operating system still
// has every written byte, also if no disk has it. So the tests show the same in memory. On a disk
// they took a third more CPU time. Whole-system tests and benchmarks use the disk.
//
// Rules:
//
//   - A test package whose tests write stores or databases imports this package, or eventstoretest,
//     which does.
//   - A process that a test starts inherits TMPDIR, and makes no folder of its own.
//
// The package must not know: anything of payledger.
package scratchtest

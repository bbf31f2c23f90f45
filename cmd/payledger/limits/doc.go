// Package limits bounds the memory of the process and sizes caches, buffers and connections by it.
//
// Rules: --memory, or 75 % of what the cgroup or the machine has, bounds the process. Every other
// size is a share of it. Settings in GOMEMLIMIT, GOMAXPROCS and GOGC that are stricter stay in
// force.
//
// The package must not know: the parts that use the memory.
package limits

// Package workers runs jobs on goroutines that it reuses. A goroutine that has done a job has the
// stack that such jobs need; the stack of a new one grows by doubling, which took 5 % of the CPU
// time of a load. It also runs many jobs at once (atonce.go).
//
// It must not know what the jobs do.
//
// # Place
//
//	outside       httpapi, notifier
//	application   commands, commands/erasures, commands/reconcile, commands/workflows
//	log           engine, verify
//	servers       remote
//	shards        secretlog
//	bytes       ► workers
package workers

// Package app is the whole service as a value: Start opens its parts in order, Stop closes them in
// the reverse order.
//
// # Rules
//
//   - app.go is the one list of the parts, in the order of their start.
//   - A step of the start that fails closes what earlier steps opened.
//   - An orderly stop takes at most 10 s (I1, stop.go): requests finish, waiting callers get the
//     answer of a payment timeout, the stores are closed.
//   - /readyz answers 200 only while the log takes appends and the views have caught up (I1,
//     admin.go).
//   - A node of a cluster has a role (--role, roles.go). With api it keeps no views, and runs
//     nothing that acts on events: no planner of webhooks, no workflows, no recovery, no
//     checkpoints. Its Door passes what needs views on to a node that has them (package passing),
//     and gets the two lists from there that commands need: the disputes beside a refund, and the
//     saved cards of a customer. With views it does everything, but owns no shard while another
//     node serves that may: its events go to the owners, as those of any node that is not the
//     owner.
//   - Commands on a running service's data folder come through a Unix socket in it (package
//     control): accounts, erasure, analysts.
//
// The package wires parts and has no rule of payments. It must not know the command line: package
// command has the flags and prints.
package app

// Package ceiling measures what a machine can do at best: durable publishes to an embedded
// JetStream server, and fsyncs of a file. Figures of the ledger are ratios of these, measured in
// the same run on the same disk (I1, bench). Its test stands with those of package engine.
//
// # Place
//
//	outside       cmd
//	servers     ► ceiling
//	servers       embedded
//	storage       jetapi
package ceiling

// Package tiprow is the keys and the values of the log in the tip store.
//
//	"t" aggregate 0 account 0 id              a tip: address, number and frame of the aggregate's newest event
//	"h" aggregate 0 account 0 id 0 revision   a part moved out of the aggregate's state by a revision
//	"a" shard                                 the applied end of a shard
//	"m" shard number                          the times of the events in a stretch of a shard's groups
//	"w" "SECRETS"                             the newest acknowledged sequence of SECRETS (package secretlog)
//	"c"                                       the place of the scrub
//	"l"                                       the log's id
//
// Package secretlog has the keys of the index of secrets, package deliverylog those of open
// deliveries. Unreadable rows are tipstore.ErrDamaged: the next start makes the tip store again
// from the log.
//
// # Place
//
//	log           engine, verify
//	servers       archive
//	shards        applied
//	shards      ► tiprow
//	storage       tipstore
//	bytes         format
package tiprow

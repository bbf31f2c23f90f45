// Package handover has the messages by which the nodes of a cluster share one writer for each shard
// of the log.
//
// The NATS header of a group's message names its writer (format.Writer). Package ownership decides
// by it which node is the owner of a shard. A node that is not the owner sends its drafts to the
// owner over core NATS, instead of a group of its own, and asks the owner for the end of the shard
// instead of appending an empty group. Drafts are final bytes. The owner appends them like its own.
//
//	group    line    Payledger-Node: the node that wrote it
//	                 Payledger-Visitor: 1, if the node is not the owner by it
//	                 Payledger-Next: the node that is to be the owner; *: anyone
//	request  subject payledger.drafts.<owner>.<shard>
//	         reply   payledger.placed.<node>.<shard>.<owner>
//	         data    frames, as in a group
//	         line    Payledger-Barrier: a number, if readers wait for the end of the shard
//	                 Payledger-Key: <accountId>.<aggregate>.<id>, once for each aggregate that they read; none: the whole shard
//	                 Payledger-Group: 1, if they wait for a group that is sent after the request
//	                 Payledger-Head: the newest group that the node has applied
//	                 Payledger-Close: the number of a segment that is to be closed
//	                 Payledger-Relay: 1, if the node is to hand the request on to the owner, which the asking node does not reach
//	answer   on the reply subject, after the acknowledgement of a group with drafts of the node, or for the readers of a request
//	         line    Payledger-Head: the sequence of the newest acknowledged group; the node gets it from the log, as all groups
//	                 Payledger-Barrier: the readers of the request with this number are served when they have applied the group
//	refusal  on the reply subject
//	         line    Payledger-Refused: "conflict" or "elsewhere", Payledger-Head: the newest group of the node
//	         data    the hashes of the drafts, 32 bytes each; none: the readers of the request
//	echo     subject payledger.echo.<node>, from a node to itself: it hears what others send to it
//	hold     subject payledger.hold, to all nodes
//	         data    how long no group begins, such as 100ms; empty: the hold ends
//
// A request decides nothing. A request, an answer or a refusal may be lost, repeated or late. Only
// the log decides whether a draft was appended: a draft names its revision and the hash before it,
// so the log takes it at most once.
//
// # Place
//
//	log           engine
//	servers       remote
//	shards      ► handover
//	bytes         format
package handover

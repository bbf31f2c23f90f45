// Package handover has the messages by which the nodes of a cluster share one writer for each shard of the log.
//
// The header Payledger-Node of a group's message names the node that wrote the group. The writer of a shard's newest group is the
// shard's sequencer. A node that is not the sequencer sends its drafts to the sequencer over core NATS, instead of a group of its own:
// two nodes that append at once would refuse each other. Drafts are final bytes. The sequencer appends them like its own.
//
//	request  subject payledger.drafts.<sequencer>.<shard>
//	         reply   payledger.placed.<node>.<shard>.<sequencer>
//	         data    frames, as in a group
//	         header  Payledger-Barrier: a number, if readers wait for the next group
//	                 Payledger-Close: the number of a segment that is to be closed
//	answer   on the reply subject, after the acknowledgement of a group with drafts of the node, or for its readers
//	         header  Payledger-Head: the sequence of the group; the node gets it from the log, as all groups
//	                 Payledger-Barrier: readers with this number or a lower one no longer wait
//	refusal  on the reply subject
//	         header  Payledger-Refused: "conflict" or "elsewhere", Payledger-Head: the newest group of the sequencer
//	         data    the hashes of the drafts, 32 bytes each; none: readers
//	hold     subject payledger.hold, to all nodes
//	         data    how long no group begins, such as 100ms; empty: the hold ends
//
// The messages decide nothing. A request, an answer or a refusal may be lost, repeated or late. Only the log decides whether a draft
// was appended: a draft names its revision and the hash before it, so the log takes it at most once.
package handover

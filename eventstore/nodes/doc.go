// Package nodes is the registry of the API nodes of one log: which nodes serve, what they can read,
// and how far they have applied the log. Another node can wait until every serving node has applied
// an event.
//
// # Rules
//
//   - A node writes a record of itself to the stream NODES, one subject for each node, at once and
//     then every second: a beat. Each beat names the sequence of the node's beat before it
//     (compare-and-swap).
//   - An acknowledged beat is a lease. The node may answer requests for Config.Lease after the
//     moment at which it sent the beat, not after the moment of the acknowledgement. Without a
//     valid lease it answers 503 (Valid).
//   - A node that applies nothing any more (Config.Healthy), or that another node has waited for
//     during Config.Lease, is unfit: it has no lease, and its beats say that it does not serve, so
//     that nobody waits for it. It joins again when it has applied the log.
//   - A node that has seen no new beat of another node for Config.Silence replaces the other node's
//     record with an end. It names the sequence of the beat that it saw. So the beat or the end
//     comes first, never both.
//   - A node whose record was ended must join again: it writes a new record, and only when this
//     record is acknowledged it applies the whole log as of that moment, and then answers requests.
//     A new node does the same.
//   - Await writes a beat, reads all records up to this beat, and waits until each serving node has
//     applied the log up to a position, does not serve, or has an end.
//   - Ends asks all nodes how far they have appended, after a beat, so that this node can know
//     without an append that its views are up to date.
//   - A node that leaves ends its own record, whatever became of its last beat (Close).
//   - Tell sends a message to all other nodes, at most once each: rates of requests, which are no
//     part of the log.
//   - Ask sends a message to the node that serves a topic (AnswerTo), and waits for the answer:
//     webhooks for a listener (package listener).
//   - Call sends a request to one node (AnswerCalls), and reads its answer in pieces, of which four
//     are under way at most. The node begins only when the caller has heard that it took the call.
//     So a caller that gave a node up can ask another one, and nothing is done twice.
//   - A record has the node's role. A node of RoleAPI acts on no events; Plans gives each such node
//     one stand-in.
//
// # Work that one node does at a time
//
//   - A node owns work under a name: its id and a term (Holder). It may act under the name for
//     Config.Tenure after it sent the last acknowledged beat. When a tenure has run out, the next
//     beat begins a new term, and with it a new name.
//   - A name is gone (Gone) when its node has a newer term, has an end, or wrote no new record for
//     Config.Absence as of a beat of the observer. Absence is longer than Tenure, so the owner does
//     not act any more. A node that takes work over writes its own name with a compare-and-swap of
//     the work's record. The former owner does the same, because it has another name by then.
//   - Tenure is shorter than Lease: a node that cannot beat during an election leaves its work
//     earlier than it refuses requests.
//   - The ids of a node's commands begin as the node's id (Mark). So the last event of an operation
//     or a run names the node that works on it (Left). Only the compare-and-swap on the next event
//     decides; the mark saves work.
//
// With the usual times a node's work is free at the latest 8 s after it died: a beat until the
// record is seen, Absence, and a beat until the silence is noticed.
//
// # Why Await is right
//
// An event is acknowledged, and then Await begins. Its own beat is stored after the event. A node
// that joins after this beat applies the whole log after its own join, and so the event. Every
// other node that serves has a record before the beat, and Await sees the record. The node reports
// a position with the event, or that it does not serve any more (it answered no request from before
// that beat on), or its record gets an end. An end follows a silence of Config.Silence after the
// record was seen. The record was sent before it was seen, so the lease has run out by then. The
// node cannot renew the lease: its next beat names a sequence that is not the newest one any more.
//
// # Time of day
//
// Ahead compares this node's time of day with that of the NATS servers, for operators and for what
// is destroyed at a time of day. A difference above a second is logged once.
//
// # Why clocks do not matter
//
// No time of one machine is compared with a time of another machine. A lease is a length on the
// clock of its holder, a silence is a length on the clock of its observer. Both are measured with a
// monotonic clock, which nobody can set, and which goes on while the machine sleeps (Linux:
// CLOCK_BOOTTIME). So clocks that are a minute, or a year, apart change nothing. Only the rates of
// two clocks matter: Silence is a tenth longer than Lease, and clocks of computers differ by less
// than a thousandth. A process that was stopped and continues finds its lease over, because the
// clock went on.
//
// A request that a node accepted before its lease ended may still run after it. It overlaps the
// change that the other node makes, and either order of the two is right.
//
// # The stream
//
// NODES has the subjects payledger.nodes.<node> and the newest record of each node, as JSON. It is
// no part of the log: no event depends on it, and a back-up leaves it out. It is on the disk of as
// many servers as the log: servers that lost it at once would forget a node whose lease is still
// valid.
//
// Considered: a consumer that follows the stream, instead of a read after each beat. It is on one
// server. When this server goes, a new consumer needs the leader of the cluster, whose election may
// take seconds, and until then no work of a dead node could be taken over; any replica answers a
// read. And the consumer of a slow node passes over a record that was replaced before it came, as a
// read does: the node would not know the other one, and has to ask for the list of subjects all the
// same.
//
// What the package must not know: events, HTTP, webhooks, and what the schemas mean.
//
// # Place
//
//	outside       cmd
//	log           engine
//	servers     ► nodes
//	storage       jetapi
//	bytes         due
package nodes

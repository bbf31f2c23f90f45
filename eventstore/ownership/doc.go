// Package ownership decides which node of a cluster appends the events of a shard, and when that
// node may answer a read from memory. It sends nothing and reads no log: it is what one node knows
// about one shard, with a clock.
//
//	         Saw: a group of the shard         Acknowledged: a group of this node
//	                    │                              │
//	                    ▼                              ▼
//	owner, next, since when seen              the lease: began + Lease
//	                    │                              │
//	                    ▼                              ▼
//	MayAppend: events here, or             Holds: a read from memory
//	a request to Target                    without a message
//
// # Rules
//
//   - The owner is the node named in the shard's newest group that is not a visitor's. A visitor's
//     group is empty: it is how a node that is not the owner learns the end of the shard
//     (format.Writer).
//   - A node puts events into a group only in one of these cases (MayAppend). It is the owner, and
//     its newest group names no other node as next. The owner's newest group names it, or anyone,
//     as next. The shard has no group, or the newest group that is no visitor's names no writer:
//     nobody takes requests. Or the owner is silent, and this node first saw the owner's newest
//     group at least Absence ago. An owner is silent for one second (silence) after a request of
//     this node had no answer for Patience, was refused because the owner cannot append now, or
//     reached no process; an owner that is not known counts as silent, and Absence then runs from
//     the start of this node. All other nodes send finished drafts to the owner (package handover).
//   - The sole writer of an embedded log has no name: it may always append, and has no leases.
//   - A node may reach the log and a third node, and not the owner, whose groups go on: the link
//     between two servers is cut. Then the third node hands its requests on (Relay). It hands on
//     nothing that another node has handed on.
//   - A read at the owner looks at the lease and at the group in flight under one lock, after the
//     reader came. Memory only gets newer: what is read from it afterwards has every event that was
//     acknowledged before the reader came, however long the process stops in between.
//   - A node that does not keep a shard names the serving node with the fewest shards (Share). It
//     does not name the node that it has the shard from: two nodes that leave would hand the shard
//     to and fro. Without another node it names anyone.
//   - A takeover is the next append. The compare-and-swap on the shard's sequence, and the hash of
//     the group before, make it safe without any clock: an owner that wakes up too late is refused,
//     reads on, and finds that it is the owner no more.
//   - The owner answers a read from memory until Lease has passed since the moment before the first
//     sending of its newest acknowledged group. A group that was sent again, or was found in the
//     log, proves nothing about that moment: it renews nothing. Nor does a lease outlive the
//     sending of a group that names the next owner, or a group whose outcome stayed unknown.
//
// Lease is shorter than Absence, and a group is seen after it was sent. So no other node appends an
// event while the lease holds.
//
// # Clocks
//
// Lease and Absence are lengths on the clock of one machine, which nobody can set and which goes on
// while the machine sleeps (Linux: CLOCK_BOOTTIME). No reading is compared with one of another
// machine. Some pauses stop that clock, too: a virtual machine that is saved and resumed, or moved.
// If the time of day has moved against the clock by more than MaxJump since the lease began, there
// was such a pause, or somebody set the time: the lease is over. A pause after which the time of
// day is behind by the same length stays unseen. So does a machine whose clock and time of day are
// slow: Lease is three quarters of Absence, so one machine's clock may take a third more time than
// another's. `serve --reads=majority` uses no lease at all.
//
// # Schedules that break simpler forms
//
// Each has a test: in this package, in package engine (TestOwner), or in package ownertest (1:
// TestReadBesideFlight, 2: TestOneGroupUnderWay, 10: TestCandidates).
//
//  1. A draft of node B is in a group of the owner. B reads the group in the log before the owner
//     has the acknowledgement, and answers its caller, who then reads at the owner: the owner's
//     memory is older. So a read at the owner waits for the group in flight that holds its
//     aggregate.
//  2. An owner that is cut off has two groups in its connection. Another node appends one group,
//     the cut heals, and the server accepts the second of the two on top of the other node's group.
//     So a node has one group in flight.
//  3. The process is stopped between its look at the lease and its look at memory. So the lease is
//     checked after the read.
//  4. A pause that stops the clock: see above.
//  5. A candidate is stopped while it waits, wakes, and believes that Absence is over. Its group is
//     refused, because the owner has appended; it reads that group, and Absence begins anew.
//  6. The owner's group is stored, its acknowledgement is lost, and the owner dies. The others
//     count from when they saw the group.
//  7. The leader of the stream and the owner are cut off together. No acknowledgement comes, so
//     nothing is renewed.
//  8. Readers append visitors' groups while the owner is dead. They do not make Absence begin anew.
//  9. Empty groups of two nodes for one place can have the same bytes. A group that was found in
//     the log counts as its NATS header says, and renews nothing.
//  10. All candidates wait for the same moment. Each begins a little later, at random; the
//     compare-and-swap picks one.
//
// Considered: a lease for a range of shards in a record beside the log (its leader's election, of 4
// to 9 s, would end all leases at once); forwarding whole requests to the owner (addresses and TLS
// between nodes, and requests with an unknown result: a payment spans three shards); asking the
// Raft group for every read (`--reads=majority` does so with empty groups).
//
// # Place
//
//	log           engine
//	shards      ► ownership
//	bytes         format
package ownership

// Package engine is the log on JetStream: it implements eventstore.Store. The comment of package
// eventstore has the rules, the bytes, the order of events and the reasons. This one has the life
// of a group, and the map of the files.
//
// # The life of a group
//
//	   append: a draft waits ◄──────────────────────────────┐          send.go, queue.go
//	         │ makeGroup                                    │
//	   a group is made of the drafts; it follows front      │          send.go
//	         │ drive                                        │
//	         ├─ after a silence the newest block is         │          watch.go
//	         │  damaged or unreadable: ErrRefused           │
//	   the group is sent: a flight ◄──────────────┐         │          send.go, flight.go
//	         │ noteOutcome                        │         │
//	   ┌─────┴─────┬────────────────┐             │         │
//	acknowledged refused         unknown          │         │
//	   │           │                │ lookUp      │         │          resolve.go
//	   │        giveUp:             ├─ nothing is there:   │
//	   │        ErrRefused          │  sendAgain ─┘        │
//	   │                            ├─ another group is    │
//	   │                            │  there: requeue ─────┘
//	   │                            ├─ the time is over: giveUp: ErrUnknown
//	   │                            └─ the group is there: foundInLog;
//	   │                               on an embedded server it waits
//	   │        ┌──────────────────────until a later group is stored
//	   ▼        ▼
//	   applyAcknowledged, apply: head grows, the callers get nil,      send.go, shard.go
//	   readers see the group
//	         │ writeTips, within a second
//	   the tip store has its events                                    recover.go
//
// A group of another process comes by the tail (subscribe.go: tail; shard.go: accept), or when a
// group of this process found its place taken. It is applied at once: a quorum has committed it. On
// an embedded server only this process appends. There a group of this process whose outcome stayed
// unknown may be found so; it waits as a flight until a later group is stored.
//
// # A group without a clear outcome
//
// The first row that fits counts (resolve.go). Rows with "place" are of the look-up at the leader.
// A draft of a group that was sent returns to the queue up to 15 s after its append began; then it
// ends with ErrRefused, or with ErrUnknown if another node may still append it.
//
//	known                                     what happens                                   function
//	─────────────────────────────────────────────────────────────────────────────────────────────────────────────
//	made, not sent:                                                                          send.go: sendMade
//	  the shard stopped, or the store closes  ErrRefused                                     refuseWaiting
//	  its block cannot be read                ErrRefused
//	  the group before it was not stored, or  its drafts return to the queue
//	    a caller took its draft back
//	refused, and no copy of it is uncertain   ErrRefused; but these drafts return to the     giveUp
//	                                          queue:
//	  this process has no connection, or the  all                                            returnUntaken
//	    stream of a cluster has no leader
//	  otherwise                               those that another node may have               returnHanded
//	refused, and an earlier copy is           as if it had no answer: the rows below         resolveFirst
//	  uncertain
//	the store closes                          ErrUnknown                                     giveUp
//	orphan, stored                            the shard is damaged; ErrUnknown               markDamaged, giveUp
//	orphan, not stored, no copy was silent    it can never be stored: its drafts return      requeue
//	                                          to the queue
//	orphan, a copy was silent:
//	  the shard stopped, so that no group     ErrUnknown                                     giveUp
//	    takes the place before it
//	  otherwise                               it may still arrive: Fatal; ErrUnknown         stop
//	place: this group, in a cluster           it is stored                                   foundInLog
//	place: this group, embedded server        it waits for the acknowledgement of a later    foundInLog, expire
//	                                          group; after 15 s its callers get ErrUnknown
//	place: another group, which is not a      the shard is damaged; ErrRefused               superseded
//	  doubted one; this is the sole writer
//	place: another group, otherwise           its drafts return to the queue, and the log    superseded, requeue
//	                                          is read on
//	place: no well-formed group, or the guard the shard is damaged; ErrUnknown               lookUp
//	  finds damage of its block
//	place: nothing, or it cannot be read:
//	  a copy was silent, the server is        the disk is lost: Fatal; ErrUnknown            timedOut, stop
//	    embedded, and the group is older
//	    than PublishTimeout and ReadTimeout
//	    (8 s)
//	  the group is older than 15 s            ErrUnknown; the group is doubted               timedOut, giveUp
//	  nothing is there, the shard stopped     ErrUnknown                                     sendAgain
//	  nothing is there                        the same bytes are sent again                  sendAgain
//	  it cannot be read                       it is looked up again                          waitOrEnd
//
// The age of a group counts from the end of the look at its block. A look that takes longer than
// ReadTimeout is none: the group is sent, and shows whether the disk answers.
//
// A publish is refused, too, if the client library did not take the group: nothing has left.
//
// A copy is silent if its publish timed out. It is uncertain if its answer was neither an
// acknowledgement nor a definite refusal.
//
// # A start, in order
//
// Before the log is opened, package embedded locks the folder of an embedded server, and package
// archive inspects and repairs it. Then:
//
//	the streams of all shards are listed                                    streams.go
//	the tip store is opened; a damaged one, or one of another log, is       recover.go: openTips
//	  made anew
//	its end of each shard must be in the log, with the same hash            recover.go: restoreEnd
//	the groups behind it are checked and applied                            recover.go: replayAll
//	an embedded server acknowledges an empty group of each shard, which     recover.go: makeDurable
//	  covers groups that were visible but not synced; a missing segment
//	  is made
//	the newest checkpoint must fit                                          streams.go: checkCheckpoint
//	SECRETS is opened; destructions that were begun are finished            store.go: OpenSecrets
//
// Operations without an outcome are looked up later (package commands/recovery).
//
// # Rules for a change
//
//   - The lock of the shard guards all its parts. The methods of a part (queue, beyond, segments,
//     applied.Tips) touch nothing else and take no lock.
//   - The point of no return is send. Before it, a failure is ErrRefused. After it only an
//     acknowledgement is success. Three things show that nothing was stored: a definite refusal, if
//     no earlier copy is uncertain; another group at the place; and of an orphan, that no copy was
//     silent and none was acknowledged. All else is unknown until resolve knows better.
//   - A group gets its place under the lock (makeGroup), is encoded without it, and is published
//     under it (sendMade). While it is encoded (beyond.building), no other group is made and none
//     is read: so publishes have the order of their places. One goroutine drives a flight, and one
//     resolves for the whole shard; while it does, no group is made, and one that was made is sent
//     only if the group before it still stands.
//   - A copy that is sent again has the same bytes: the server can store one of them at most.
//   - After a change that may let a group leave, sendNext is called under the lock. Every way to
//     send goes through makeGroup, which alone decides.
//   - A draft of an aggregate that has an event beyond head stays in the queue (fillGroup). So fits
//     compares with the newest acknowledged event.
//   - Tests: unknown_test.go and inflight_test.go have each way of the picture; ownertest,
//     modeltest and faulttest run clusters, random schedules and faults of the connection.
//
// # Concepts
//
// A test checks that each identifier exists where this list says (TestConcepts). It does not
// compare the meanings.
//
//   - Group: a message of the log, up to 256 events; it has the hash of the group before it
//     (package format: Group).
//   - Empty group: has no event; its acknowledgement covers all groups before it (package format:
//     KindEmpty).
//   - Closing group: ends a segment, and names the next one (package format: KindClosing).
//   - Witness: the newest acknowledged group of another shard, which a group names at intervals
//     (shard.go: witness).
//   - Shard: one sequence of groups, as this process knows it (shard.go: shard).
//   - Head: the last acknowledged group, during a start the last one that was read; the end of what
//     readers see (package format: Head).
//   - Tips: the newest events of aggregates, until the tip store has them (package applied: Tips).
//   - Recent groups: the newest groups up to head, in memory for readers (package applied: Groups).
//   - Segment: a stream of a shard; the newest one takes groups (segment.go: segments).
//   - Floor: the end of the part of the deliveries that was dropped (package streams: Floor).
//   - Entry: a draft that waits to be appended, or a reader that waits for an acknowledgement
//     (queue.go: entry).
//   - Queue: the entries that wait for the next group of this process (queue.go: queue).
//   - Need: the reasons for an empty group, apart from readers: an acknowledgement, the lease, an
//     heir (queue.go: need).
//   - Departure: when the next group leaves; drafts gather while groups take long (queue.go:
//     departure, package pace: Pace).
//   - Hold: no group but those of the checkpoints begins, because a back-up requested it (package
//     handover: Hold).
//   - Flight: a group beyond head, sent by this process or read from the log (flight.go: flight).
//   - Outcome: the result of a publish: stored, refused or unknown (flight.go: outcome).
//   - Orphan: a flight that follows a group that was not stored; it must never be acknowledged
//     (flight.go: orphan).
//   - Beyond: all flights of a shard, first those that were read (flight.go: beyond).
//   - Front: the end of the shard if all flights are stored; the next group follows it (flight.go:
//     front).
//   - Doubted: a group of this process whose outcome stayed unknown (flight.go: doubted).
//   - Owner: the node of a cluster that appends to the shard (package ownership: State).
//   - Lease: the time in which the owner answers reads from memory (package ownership: Lease).
//   - Visitor: a node that is not the owner and appends an empty group (package format: Visitor).
//   - Exchange: the entries that are at another node, and those of other nodes here (handover.go:
//     exchange).
//
// # Where things are
//
//   - store.go: opening and closing. execute.go: commands. shard.go: the parts of a shard; applying
//     a group. streams.go, segment.go, package streams: the streams of a shard. continuity.go: that
//     a group follows the group before it, and an event its aggregate's.
//   - Package ownership: which node of a cluster appends to a shard, and answers reads from memory.
//     owner.go: that node; handover.go: the others. Package handover: their messages.
//   - Package applied: the memory of a shard, and the times of its events, for readers of a window
//     (shard.go: Near). recover.go, packages tipstore and tiprow: the tip
//     store. load.go, continuity.go, groupread.go, subscribe.go: reading.
//   - records.go, package deliverylog: the records of deliveries. Package checkpointlog: the
//     checkpoints, which are records, too, and the order that they fix. Package ordered: all events
//     in this order. Package secretlog: the stream SECRETS.
//   - Package embedded: the server in this process. Packages archive and folder: checks and repairs
//     of its folder before it starts. scrub.go: checks while it runs. watch.go: health; mayRead, a
//     check of a block before the server reads it. Package folder: the server's files. Package
//     disk: a full disk. Package nodes: the nodes that serve a log.
//
// Few packages may import this one (house, TestEngine): each of them compiles again with every
// change here. All others use eventstore.Store.
//
// The package must not know: HTTP, SQL, processors, webhooks, and why an aggregate decides as it
// does.
//
// # Place
//
//	outside       cmd
//	log         ► engine
//	log           eventstore
//	servers       archive, backup, external, nodes
//	shards        applied, checkpointlog, deliverylog, handover, ownership, pace and 2 others
//	storage       disk, folder, jetapi, streams, tipstore, tipstore/tipfiles
//	bytes         cache, due, fault, format, workers
package engine

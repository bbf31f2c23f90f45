// Package pending finds pending work in the views when it is due, and passes it to Commands.
//
// A Scanner has a few loops, each with a bounded number of goroutines. Pending work takes no memory
// of this process: the views hold it in SQLite, in indexes ordered by due time, and the loops read
// the indexes in pages. The work:
//
//   - operations without an outcome (REQUESTED, UNKNOWN, PENDING): a look-up at the processor (D8);
//   - actions that the customer did not complete in time (D7);
//   - pending notifications in the inboxes of payments (D14.6);
//   - decisions about payment attempts that a crash interrupted (§3.3).
//
// # The cycle
//
// At first the process that requested an operation looks it up at the processor: while callers
// wait, and then until its look-ups would be more than two minutes apart, at an age of some three
// minutes. Package payments holds such operations in memory, within bounds. The Scanner looks all
// others up: when the request is Patience old, and then once in every Cycle. No record holds the
// time of the next look-up, no look-up needs a write, and a restart changes nothing.
//
// Each operation has a slot in the Cycle: the time of its request modulo Cycle. A view orders the
// operations by slot. A cursor goes through the slots as the time passes, again and again, and the
// operations that it passes are looked up. For example, an operation requested at 12:03:20 has the
// slot 3:20. With a Patience of 100 s the cursor passes it at 12:05:00, 12:10:00, …
//
// A start goes through one Cycle at full speed: every operation of any age is looked up once. The
// service does not wait for it.
//
// When another node is lost (Scanner.Lost), the operations and attempts that it wrote last are
// taken up at once, and the inboxes are looked through. Operations of nodes that work are left to
// them until they are Patience old, except at a start.
//
// Too many operations or a slow processor delay the cursor. If it is more than a Cycle late, it
// continues one Cycle before now. It then needs more than a Cycle for all slots, and still passes
// every operation once.
//
// A record that is too far ahead of the clock was written before the clock was set back (package
// due). It counts as old: its age is unknown.
//
// # Bounds
//
// Each processor has loops of its own with goroutines of their own. A processor that does not
// answer holds at most operationsAtOnce, actionsAtOnce and inboxesAtOnce of them. It delays no
// other processor, no start, and no destruction of cards. A common bound would be used up by
// hanging processors. With the schedule of package payments there are at most 6·(8+4+4+8) = 144
// look-ups to all processors at once, if all of them hang.
//
// Eight operations at once are 400 look-ups a second at a processor that answers within 20 ms. A
// larger number would send more look-ups to a slow processor in trouble. A smaller number makes the
// way through all slots long: a million operations at six processors take seven minutes at eight,
// and 14 at four. A processor that answers at once gets 2,000 look-ups a second and more: then the
// loads of payments are the limit (TestPendingCaptures).
//
// Two goroutines of a process never look up one open operation at the same time: package payments
// ensures that. Several nodes may; the compare-and-swap on the outcome decides whose answer counts.
//
// # What it must not know
//
// HTTP, SQL, how to look an operation up at a processor. Views and Commands are interfaces.
package pending

// Package pending finds pending work in the views when it is due, and passes it to Commands.
//
// A Keeper has a few loops, each with a bounded number of goroutines. Pending work takes no memory of this process: the
// views hold it in SQLite, in indexes ordered by due time, and the loops read the indexes in pages. The work:
//
//   - operations without an outcome (REQUESTED, UNKNOWN, PENDING): a question to the processor (D8);
//   - actions that the customer did not complete in time (D7);
//   - pending notifications in the inboxes of payments (D14.6);
//   - decisions about payment attempts that a crash interrupted (§3.3).
//
// # The wheel
//
// At first the process that requested an operation asks the processor about it: while callers wait, and then until its questions
// are five minutes apart. Package payments holds such operations in memory, within bounds. For all other operations the wheel
// asks: when the request is Patience old, and then once every Round. No record holds the time of the next question, no question needs
// a write, and a restart changes nothing.
//
// The wheel is a circle of one Round. The turn of an operation is its place on the circle: the time of its request modulo Round.
// A view orders the operations by turn. The hand of the wheel moves with the time, and asks about the operations that it passes.
// For example, an operation requested at 12:03:20 has the turn 3:20. With a Patience of 100 s the hand passes it at 12:05:00, 12:10:00, …
//
// A start turns the wheel once at full speed: it asks once about every operation of any age. The service does not wait for it.
//
// When another node is lost (Keeper.Lost), the operations and attempts that it wrote last are taken up at once, and the inboxes are looked
// through. Operations of nodes that work are left to them until they are Patience old, except at a start.
//
// Too many operations or a slow processor delay the hand. If the hand is more than a Round late, it continues one Round before now.
// A revolution then takes longer than a Round, and still covers every operation once.
//
// A record that is too far ahead of the clock was written before the clock was set back (package due). It counts as
// old: its age is unknown.
//
// # Bounds
//
// Each processor has loops of its own with goroutines of their own. A processor that does not answer holds at most
// operationsAtOnce, actionsAtOnce and inboxesAtOnce of them. It delays no other processor, no start, and no destruction of
// cards. A common bound would be used up by hanging processors. With the agenda of package payments there are at most
// 6·(8+4+4+8) = 144 questions to six processors at once, if all of them hang.
//
// Eight operations at once are 400 questions a second at a processor that answers within 20 ms. A larger number would send
// more questions to a slow processor in trouble. A smaller number makes a revolution long: a million operations at six
// processors take seven minutes at eight, and 14 at four. A processor that answers at once gets 2,000 questions a
// second and more: then the loads of payments are the limit (TestPendingCaptures).
//
// Two goroutines of a process never ask about one open operation at the same time: package payments ensures that. Several nodes may; the
// compare-and-swap on the outcome decides whose answer counts.
//
// # What it must not know
//
// HTTP, SQL, how to ask a processor. Views and Commands are interfaces.
package pending

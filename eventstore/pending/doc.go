// Package pending finds pending work in the views when it is due, and passes it to package commands.
//
// A Keeper has a few loops, each with a bounded number of goroutines. Pending work takes no memory of this process: the
// views hold it in SQLite, in indexes ordered by due time, and the loops read them in pages. The work:
//
//   - operations without an outcome (REQUESTED, UNKNOWN, PENDING): a question to the processor (D8);
//   - actions that the customer did not complete in time (D7);
//   - pending notifications in the inboxes of payments (D14);
//   - decisions about payment attempts that a crash interrupted (§3.3).
//
// # The wheel
//
// The process that requested an operation asks about it while callers wait and until the questions are five minutes apart:
// package commands holds those operations in memory, within bounds. For all other operations there is one question every
// Round: Patience after the request, and then every Round. So the time of the next question is stored nowhere, no question
// costs a write, and a restart changes nothing. A view orders operations by the time of their request modulo Round, their
// turn; the hand of a wheel moves over the turns as time passes and asks about the operations that it passes.
//
// A start asks once about everything, whatever its age: a full turn of the wheel, at once. The start does not wait for it.
//
// A hand that falls behind, because of too many operations or a slow processor, skips no operation and asks about none
// twice: it falls at most one Round behind, and then each turn, which takes longer than a Round, covers every operation.
//
// A record further ahead of the clock than possible was written before the clock was set back (package due). It counts as
// old: its age is unknown.
//
// # Bounds
//
// Each processor has loops of its own with goroutines of their own: operationsAtOnce, actionsAtOnce and inboxesAtOnce
// are all that a processor which hangs can hold. Other processors, the start, and the destruction of cards, which is not
// here, do not notice. There is no bound over all processors beside these: the processors that hang would use it up. With
// the agenda of package commands there are at most 144 questions to six processors at once, if all of them hang.
//
// Eight operations at once are 400 questions a second at a processor that answers within 20 ms. More would ask a slow
// processor for more while it is in trouble; fewer make a turn of the wheel long: a million operations at six
// processors take seven minutes at eight, and 14 at four. A processor that answers at once gets 2,000 questions a
// second and more: then the loads of payments are the limit (TestPendingCaptures).
//
// Two goroutines never ask about one operation at the same time: package commands ensures that. Several nodes may; the
// compare-and-swap on the outcome decides whose answer counts.
//
// # What it must not know
//
// HTTP, SQL, what a question is. Views and Commands are interfaces.
package pending

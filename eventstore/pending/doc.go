// Package pending looks after work that waits: it finds in the views what is due by now, and has package commands do it.
//
// What it is: a Keeper with a few loops, each with a bounded number of goroutines. What waits costs no memory of this
// process: the views hold it in SQLite, in indexes ordered by the time at which it is due, and the loops read them in
// pages. What is due:
//
//   - operations without an outcome (REQUESTED, UNKNOWN, PENDING): the processor is asked what became of them (D8);
//   - actions that the customer did not take in time (D7);
//   - notifications that wait in the inbox of their payment (D14);
//   - decisions about payment attempts that a crash has left (§3.3).
//
// # The wheel
//
// An operation for which callers wait, and the questions after that until they are five minutes apart, are the business
// of the process that requested it: they stand in the memory of package commands, within bounds. All other operations
// are asked about once every Round. When, follows from the time of the request alone: Patience after it, and then
// every Round. So the time of the next question is written nowhere, no question costs a write, and a restart changes
// nothing. A view orders operations by the time of their request modulo Round, their turn; the hand of a wheel moves
// over the turns as time goes by, and what it passes is asked about.
//
// A start asks once about everything, whatever its age: a full turn of the wheel, at once. It runs behind the start,
// which does not wait for it.
//
// A hand that falls behind, because there is too much to ask or the processor is slow, skips nothing and asks about
// nothing twice: at most it falls one Round behind, and then every operation is asked about in each turn, which takes
// longer than a Round.
//
// What was noted further ahead of the clock than it can be was noted before the clock was set back (package due). It is
// looked after like what is old: how old it is cannot be told.
//
// # Bounds
//
// Each processor has loops of its own with goroutines of their own: operationsAtOnce, actionsAtOnce and inboxesAtOnce
// are all that a processor which hangs can hold. Other processors, the start, and the destruction of cards, which is not
// here, do not notice. There is no bound over all processors beside these: the processors that hang would use it up. With
// the agenda of package commands six processors are asked 144 questions at once at most, if all of them hang.
//
// Eight operations at once are 400 questions a second at a processor that answers within 20 ms. More would ask a slow
// processor for more while it is in trouble; fewer make a turn of the wheel long: a million operations at six
// processors take seven minutes at eight, and 14 at four. A processor that answers at once is asked 2,000 times a
// second and more: then the look-ups of payments are the limit (TestPendingCaptures).
//
// Two goroutines never ask about one operation at the same time: package commands sees to it. Several nodes may; the
// compare-and-swap on the outcome decides whose answer counts.
//
// # What it must not know
//
// HTTP, SQL, what a question is. Views and Commands are interfaces.
package pending

// Package crashtest kills a ledger and a connector while an operation is under way, and then
// compares the ledger, the connector's book and the vendor. The ledger and the connector are
// processes, and are killed as kill -9 does it. The vendor is a double in the process of the test,
// and so are the gates between the three.
//
//	client ─► ledger ─► gate ─► connector ─► gate ─► vendor
//	       5          1, 4b, 4c           2, 3, 4a
//
// A request is stopped at one of these places, on its way there or on its way back; see Step. The
// processes are killed at that moment. They start again on the same folders, and the client repeats
// its request under the same key. The test waits until the ledger has an outcome, and the client
// repeats once more.
//
// Rules, for each kill:
//   - The vendor carried the operation out once or not at all, and the ledger says the same.
//   - The amounts of the ledger's payment are those of the vendor.
//   - A success that the client has read stays.
//   - A repeat of the client is refused with the payment's id, and does nothing. So does each
//     message of the vendor that comes late and twice.
//   - At the end no operation of the connector's book is without its last answer, `payledger
//     reconcile` finds no difference, and `payledger verify` proves the log of the stopped folder.
//
// Run takes a sample: each operation once. With the build tag system it takes every operation, step
// and victim, at a ledger that sends an unseen operation again, and at one whose payment timeout is
// over after the start, so that it fences the operation, and where the vendor's messages come
// before the outcome. It prints a table.
//
// Nothing waits for a time: a late request goes on when a look-up has its answer, and the ledger is
// read until it has an outcome.
//
// The package must not know: a vendor. It uses the programs, as an operator and a merchant do.
package crashtest

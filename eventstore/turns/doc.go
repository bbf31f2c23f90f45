// Package turns lets the node that wrote an event act on it first.
//
// Every node of a cluster reads every event. If all of them acted on it at once, one would win the
// compare-and-swap, and the work of the others would be for nothing. So the node that wrote an
// event acts at once, and the others act only on what that node left undone for a while. Who acts
// decides nothing: the compare-and-swap on the first record of the action does.
//
// The package must not know: which actions there are, and who wrote an event.
//
// # Place
//
//	outside       notifier
//	application   commands/workflows
//	log         ► turns
//	bytes         due, format
package turns

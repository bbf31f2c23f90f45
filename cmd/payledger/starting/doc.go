// Package starting has the progress of a start of the service, which can take minutes: until the
// log is open and the views are complete, the service answers with it.
//
// The tests stand in cmd/payledger/servicetest, in a program that has the whole service anyway.
package starting

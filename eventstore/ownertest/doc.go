// Package ownertest plays the nodes of a cluster in one process with a clock of its own, and checks
// the owners of shards (package ownership). It has only tests.
//
// A world is an embedded server with one replica, and some stores on it. The link of a store to the
// server shows it three replicas, so that it behaves as in a cluster. A test can hold the messages
// of a link in each direction, end the link for good, and change the clock of a node. Everything
// runs in a bubble of testing/synctest: its time is fake, and passes when all goroutines wait. So a
// test takes milliseconds, and a length of time in it does not depend on the machine.
//
// The answers to all callers are recorded, and compared with the log and with one order of the
// calls (porcupine).
//
// What one replica cannot show (elections, groups that a leader takes and loses) has tests on real
// clusters in package eventstore.
package ownertest

// Package commandstest is the test kit of the commands. Its Rig is a real log with an account, a
// vault and the simulator. A test starts services on it, or nodes: processes with their own stores,
// of which each can have one Fault. An effect of a command is an appended event or a call of a
// processor. A fault refuses an effect, loses it or its answer, repeats it, or ends the process
// there.
//
// The kit makes sessions, tokens, payments, attempts and notifications. It reads their state at the
// log, and compares payments with the processors' books (Audit). It finds the message of an event
// in what a client sends to the NATS server (Sent). A History decides whether the
// answers to concurrent clients fit one order of their requests.
//
// It starts all services together, because a payment needs them. So the tests of a service that
// import the kit are external tests; many stand in the folder above. It must not know what a single
// test checks.
package commandstest

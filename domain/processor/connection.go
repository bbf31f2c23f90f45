package processor

import "time"

// ConnectionState is what a service knows of its connection to a processor (D22.9).
type ConnectionState string

const (
	NoAddress     ConnectionState = "NO_ADDRESS"    // the service has no address of it
	NotAsked      ConnectionState = "NOT_ASKED"     // no call has ended since the start
	Answering     ConnectionState = "ANSWERING"     // it answers
	NotAnswering  ConnectionState = "NOT_ANSWERING" // calls end without an answer
	Misconfigured ConnectionState = "MISCONFIGURED" // it refuses the token, or is not the processor of that name and protocol
)

// Connection is the state of a connection.
type Connection struct {
	State  ConnectionState
	Since  time.Time // of the first call that ended so; zero unless NOT_ANSWERING or MISCONFIGURED
	Reason string    // for operators: it may name addresses. "" unless Since is set
	Unfit  UnfitAnswers
	// Unsigned says, for operators, how many notifications without a valid signature came within
	// UnfitWithin; "": none. It changes no state: anybody can send one.
	Unsigned string
	// Simulated reports whether the processor declares that it is the simulator, whose cards are
	// those of the sandbox (D13).
	Simulated bool
}

// UnfitWithin is for how long an unfit answer counts in UnfitAnswers.Recent.
const UnfitWithin = 10 * time.Minute

// UnfitAnswers are answers that cannot be the answers to their requests: garbage, or about another
// payment, operation, currency or amount. None of them is a fact, and the outcomes stay unknown.
type UnfitAnswers struct {
	Recent int    // in the last UnfitWithin
	Reason string // of the newest, for operators; "" without a recent one
	Total  uint64 // since the start of this process
}

// Bad reports whether an operator has to look at the connection.
func (c Connection) Bad() bool { return c.State == NotAnswering || c.State == Misconfigured }

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

// ConnectionStates lists every state.
var ConnectionStates = []ConnectionState{NoAddress, NotAsked, Answering, NotAnswering, Misconfigured}

// Connection is the state of a connection.
type Connection struct {
	State  ConnectionState
	Since  time.Time // of the first call that ended so; zero unless NOT_ANSWERING or MISCONFIGURED
	Reason string    // for operators: it may name addresses. "" unless Since is set
}

// Bad reports whether an operator has to look at the connection.
func (c Connection) Bad() bool { return c.State == NotAnswering || c.State == Misconfigured }

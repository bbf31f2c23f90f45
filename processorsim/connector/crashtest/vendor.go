package crashtest

import (
	"net/http"

	"payledger/domain/processor"
)

// Program is how a program is started.
type Program struct {
	Path string
	Args []string
	Env  []string
}

// Vendor is the double of a vendor, and its connector. API, Connector, Moved, Approved and Requests
// are required.
type Vendor struct {
	Name processor.Name
	API  http.Handler
	// Connector returns the connector's program for the address of API. Run adds --data, --listen,
	// the token and the secret.
	Connector func(api string) Program
	// Moved returns what the vendor did for a payment of the ledger.
	Moved func(payment string) Moved
	// Pass lets the customer of a payment pass the check.
	Pass func(payment string)
	// Deliver sends the vendor's messages that are left to the connector; nil: it has none. With
	// Answers the results of operations come in messages only.
	Deliver func(events string)
	Answers bool
	// FailSaved makes the vendor carry out the next request to a path and keep 500 as its answer
	// under the vendor's idempotency key; nil: it cannot.
	FailSaved func(path string)
	// Waits reports whether an operation that stops at a step has its outcome later than a test can
	// wait; nil: none.
	Waits func(op Operation, step Step) bool
	// Approved and Challenged are cards.
	Approved, Challenged string
	// Requests are the vendor's requests of operations, "METHOD PATH" with * for a segment. Other
	// operations are left out.
	Requests map[Operation]string
}

// Moved is what a vendor did for a payment.
type Moved struct {
	Authorized int   // approved authorizations
	Held       int64 // the authorized amount, with its adjustments, in minor units
	Captured   int64
	Refunded   int64
	Cancelled  int // released authorizations
}

// Operation is an operation of a merchant.
type Operation string

// The operations.
const (
	Card        Operation = "authorize: its card" // the vendor's first of two requests
	Authorize   Operation = "authorize"
	AutoCapture Operation = "automatic capture"
	Complete    Operation = "complete after 3-D Secure"
	GiveUp      Operation = "complete, customer gave up"
	Capture     Operation = "capture"
	CapturePart Operation = "capture of a part"
	CaptureLast Operation = "final capture of a part"
	Cancel      Operation = "cancel"
	CancelRest  Operation = "cancel of the rest"
	Refund      Operation = "refund"
	Adjust      Operation = "adjust"
)

// Operations are all of them.
var Operations = []Operation{Card, Authorize, AutoCapture, Complete, GiveUp, Capture, CapturePart, CaptureLast, Cancel, CancelRest, Refund, Adjust}

// action is an operation at the ledger.
type action struct {
	kind     processor.Kind // of the ledger's request to the connector
	path     string         // after /payments/ID; "": the payment is created
	body     map[string]any
	outcomes []string // types of the transaction event of the outcome: the first is the success
}

const (
	amount   = 1000 // minor units of EUR
	part     = 400
	refunded = 300
	raised   = 1200
)

var actions = map[Operation]action{
	Card:        {kind: processor.Authorize, outcomes: []string{"AUTHORIZATION_SUCCEEDED", "AUTHORIZATION_FAILED", "AUTHORIZATION_DECLINED"}},
	Authorize:   {kind: processor.Authorize, outcomes: []string{"AUTHORIZATION_SUCCEEDED", "AUTHORIZATION_FAILED", "AUTHORIZATION_DECLINED"}},
	AutoCapture: {kind: processor.Capture, outcomes: []string{"CAPTURE_SUCCEEDED", "CAPTURE_FAILED"}},
	Complete:    {kind: processor.Complete, path: "resume", outcomes: []string{"AUTHORIZATION_SUCCEEDED", "AUTHORIZATION_FAILED", "AUTHORIZATION_DECLINED"}},
	GiveUp:      {kind: processor.Complete, path: "resume", outcomes: []string{"AUTHORIZATION_DECLINED", "AUTHORIZATION_FAILED", "AUTHORIZATION_SUCCEEDED"}},
	Capture:     {kind: processor.Capture, path: "capture", outcomes: []string{"CAPTURE_SUCCEEDED", "CAPTURE_FAILED"}},
	CapturePart: {kind: processor.Capture, path: "capture", body: map[string]any{"amount": part, "final": false}, outcomes: []string{"CAPTURE_SUCCEEDED", "CAPTURE_FAILED"}},
	CaptureLast: {kind: processor.Capture, path: "capture", body: map[string]any{"amount": part}, outcomes: []string{"CAPTURE_SUCCEEDED", "CAPTURE_FAILED"}},
	Cancel:      {kind: processor.Void, path: "cancel", outcomes: []string{"CANCELLATION_SUCCEEDED", "CANCELLATION_FAILED"}},
	CancelRest:  {kind: processor.Void, path: "cancel", outcomes: []string{"CANCELLATION_SUCCEEDED", "CANCELLATION_FAILED"}},
	Refund:      {kind: processor.Refund, path: "refund", body: map[string]any{"amount": refunded}, outcomes: []string{"REFUND_SUCCEEDED", "REFUND_FAILED"}},
	Adjust:      {kind: processor.Adjust, path: "adjust-authorization", body: map[string]any{"amount": raised}, outcomes: []string{"AUTHORIZATION_ADJUSTMENT_SUCCEEDED", "AUTHORIZATION_ADJUSTMENT_FAILED"}},
}

// Step is where the processes are killed.
type Step string

// The steps. A name has a number, and where the request or its answer is.
const (
	OnTheWay     Step = "1: the ledger's request is on the way to the connector, and never arrives"
	OnTheWayLate Step = "1 late: it arrives after the next start and look-up"
	Held         Step = "2: the vendor has the connector's request, and never acts"
	HeldLate     Step = "2 late: it acts after the next start and look-up"
	Acted        Step = "3: the vendor has acted, and its answer has not left"
	Told         Step = "4a: the connector is reading the vendor's answer"
	Booked       Step = "4b: the connector's answer is on the way to the ledger"
	Heard        Step = "4c: the ledger is reading the connector's answer"
	Answered     Step = "5: the ledger's answer is on the way to the client"
)

// Steps are all of them.
var Steps = []Step{OnTheWay, OnTheWayLate, Held, HeldLate, Acted, Told, Booked, Heard, Answered}

// Faults at step 3 that kill nobody, or more than once.
const (
	Cut    Step = "cut: the vendor acts, and its connection breaks"
	Fails  Step = "500: the vendor acts, answers 500, and answers a repeat truly"
	Saved  Step = "500 kept: the vendor acts, and answers 500 to each repeat under its key"
	Asking Step = "asking: the ledger is killed again at its next two look-ups"
	Again  Step = "again: the connector is killed again at its next request to the vendor, which acts"
	Away   Step = "away: the folder of the connector's book is away at its next start, and comes back"
)

// Faults are all of them.
var Faults = []Step{Cut, Fails, Saved, Asking, Again, Away}

// Victim is a set of processes.
type Victim string

// The victims.
const (
	Nobody     Victim = "nobody"
	TheLedger  Victim = "ledger"
	Connector  Victim = "connector"
	BothOfThem Victim = "both"
)

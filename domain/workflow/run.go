package workflow

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"payledger/domain"
)

// Status is the status of a run.
type Status string

// The statuses of runs (§3.4, D19).
const (
	Skipped   Status = "SKIPPED"   // its condition did not hold
	Waiting   Status = "WAITING"   // for its time, or for a node that runs it
	Running   Status = "RUNNING"   // an action was requested
	Succeeded Status = "SUCCEEDED" // every action did
	Failed    Status = "FAILED"    // an action did
)

// Statuses are all statuses of a run.
var Statuses = []Status{Waiting, Running, Succeeded, Failed, Skipped}

// Ref names the version of the workflow.
type Ref struct {
	ID      domain.WorkflowID `json:"id"`      // the workflow
	Name    string            `json:"name"`    // its name in that version
	Version int64             `json:"version"` // from 1
}

// Occasion is the event that started a run.
type Occasion struct {
	EventType   string    `json:"eventType"`   // PAYMENT.STATUS, …
	EventID     string    `json:"eventId"`     // uuid of the event
	Aggregate   string    `json:"aggregate"`   // payment or dispute
	AggregateID string    `json:"aggregateId"` // the payment's or the dispute's id
	Sequence    uint64    `json:"sequence"`    // the event's revision
	Shard       int64     `json:"shard"`       // the log's shard
	Seq         uint64    `json:"seq"`         // sequence of the event's message in its shard
	At          time.Time `json:"at"`          // when the event was decided, UTC
}

// Seen is a value that a condition read: its path and its JSON.
type Seen struct {
	Path  string `json:"path"`  // the value's path in the condition
	Value string `json:"value"` // never personal data; long values are cut
}

// Evaluation is the result of a condition.
type Evaluation struct {
	Holds bool   `json:"holds"`           // reports whether the actions may run
	Error string `json:"error,omitempty"` // why the evaluation failed; counts as false (D19)
	Seen  []Seen `json:"seen,omitempty"`  // the values that the condition read
}

// StepState is the state of an action.
type StepState string

const (
	StepOpen      StepState = "OPEN"
	StepRequested StepState = "REQUESTED"
	StepSucceeded StepState = "SUCCEEDED"
	StepFailed    StepState = "FAILED"
)

// Step is an action of a run with its outcome.
type Step struct {
	ID          string     `json:"id"`
	Action      Action     `json:"action"` // with its amount
	State       StepState  `json:"state"`
	RequestedAt *time.Time `json:"requestedAt,omitempty"`
	EndedAt     *time.Time `json:"endedAt,omitempty"`
	Result      Result     `json:"result,omitempty"`
}

// Result is the result of a successful action.
type Result struct {
	Operation  domain.OperationKey `json:"operation,omitempty"`  // of the payment
	StatusCode int64               `json:"statusCode,omitempty"` // of the answer to an HTTP request
}

// RunError is the reason of a failed run (§6.5).
type RunError struct {
	ApplicationID string `json:"applicationId"` // PAYMENTS or HTTP
	ActionID      string `json:"actionId"`      // uuid of the failed action
	DiagnosticsID string `json:"diagnosticsId"` // the correlation id of the action's events
	Message       string `json:"message"`       // why the action failed
}

// The applications that actions belong to (D19).
const (
	ApplicationPayments = "PAYMENTS"
	ApplicationHTTP     = "HTTP"
)

// RunState is one run.
type RunState struct {
	ID        domain.RunID     `json:"id"`
	Account   domain.AccountID `json:"accountId"`
	Revision  uint64           `json:"revision"`
	StartedAt time.Time        `json:"startedAt"`
	UpdatedAt time.Time        `json:"updatedAt"`
	DueAt     time.Time        `json:"dueAt"` // no action before
	Workflow  Ref              `json:"workflow"`
	Trigger   Occasion         `json:"trigger"`
	Payment   domain.PaymentID `json:"paymentId"` // the payment of its actions
	Condition Evaluation       `json:"condition"`
	Depth     int64            `json:"depth,omitempty"` // number of runs in the chain that led to this one
	Steps     []Step           `json:"steps,omitempty"`
	Error     *RunError        `json:"error,omitempty"`
}

// Exists reports whether the run has begun.
func (s RunState) Exists() bool { return s.Revision > 0 }

// Status derives the status from the steps.
func (s RunState) Status() Status {
	switch next, more := s.Next(); {
	case s.Error != nil:
		return Failed
	case !s.Condition.Holds:
		return Skipped
	case !more:
		return Succeeded
	case next == 0 && s.Steps[0].State == StepOpen:
		return Waiting
	default:
		return Running
	}
}

// Open reports whether actions are left.
func (s RunState) Open() bool {
	status := s.Status()
	return s.Exists() && (status == Waiting || status == Running)
}

// Next returns the index of the first action that has not succeeded; false if all have.
func (s RunState) Next() (int, bool) {
	i := slices.IndexFunc(s.Steps, func(step Step) bool { return step.State != StepSucceeded })
	return max(i, 0), i >= 0
}

// stepKey begins the idempotency keys of actions. A merchant's key cannot begin so: it has no space
// (D9).
const stepKey = "workflow run "

// StepKey returns the idempotency key of an action, the same on every repeat.
func (s RunState) StepKey(step int) string { return stepKey + s.Diagnostics(step) }

// IsStepKey reports whether a key is an action's.
func IsStepKey(key string) bool { return strings.HasPrefix(key, stepKey) }

// diagnostics begins the correlation ids of actions.
const diagnostics = "run."

// Diagnostics returns the correlation id of an action's events.
func (s RunState) Diagnostics(step int) string {
	return diagnostics + string(s.ID) + "." + strconv.Itoa(step+1)
}

// CausedBy returns the run whose action led to an event, from the event's correlation id.
func CausedBy(correlationID string) (domain.RunID, bool) {
	rest, is := strings.CutPrefix(correlationID, diagnostics)
	id, _, whole := strings.Cut(rest, ".")
	return domain.RunID(id), is && whole && domain.ValidID(id)
}

func stepID(step int, a Action) string { return strconv.Itoa(step+1) + "-" + a.Type }

func (a Action) application() string {
	if a.Type == HTTPRequest {
		return ApplicationHTTP
	}
	return ApplicationPayments
}

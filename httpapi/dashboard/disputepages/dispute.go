package disputepages

import (
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/nextstep"
)

type deadline struct {
	Text string
	Tone string
	By   *time.Time
}

const (
	soon = 7 * 24 * time.Hour
	near = 48 * time.Hour
)

// deadlineOf returns the deadline of an open dispute; the zero value for others, which need no
// answer.
func deadlineOf(d Dispute, now time.Time) deadline {
	if d.Status != processor.DisputeOpen {
		return deadline{}
	}
	if d.ChallengeRequiredBy == nil {
		return deadline{Text: "The processor names no deadline"}
	}
	by := *d.ChallengeRequiredBy
	left := by.Sub(now)
	switch {
	case left <= 0:
		return deadline{"The deadline passed " + frame.Ago(-left) + " ago", "bad", &by}
	case left < near:
		return deadline{"Urgent: " + frame.Ago(left) + " left", "bad", &by}
	case left < soon:
		return deadline{"Soon: " + frame.Ago(left) + " left", "warn", &by}
	default:
		return deadline{frame.Ago(left) + " left", "", &by}
	}
}

type fact struct {
	ProcessorEventID    string `json:"processorEventId"`
	At                  time.Time
	ReceivedAt          time.Time
	Type                processor.DisputeType
	Status              processor.DisputeStatus
	Verdict             string
	Refusal             string
	ReasonCode          string
	Amount              domain.Amount
	Currency            domain.Currency
	ChallengeRequiredBy *time.Time
}

// Judged returns the verdict about the notification, for people.
func (f fact) Judged() string {
	switch f.Verdict {
	case "OPENED":
		return "It opened the dispute here."
	case "CHANGED":
		return "It changed the dispute."
	case "NOTED":
		return "It is recorded. The stage and status of the dispute stayed as they were: newer facts count, or nothing differed."
	case "REJECTED":
		return "It was rejected as impossible, and changed nothing: " + strings.TrimSuffix(f.Refusal, ".") + "."
	default:
		return f.Verdict
	}
}

type detail struct {
	Dispute  Dispute
	History  []fact // newest first
	Deadline deadline
	Stage    string // what the stage means
	State    string // what the status means
	Next     string // the next step of the merchant; "" for none
}

var stages = map[processor.DisputeType]string{
	processor.Retrieval:      "The bank of the customer asks for information about the payment. No money has moved.",
	processor.Chargeback:     "The customer disputes the payment: a chargeback. The bank takes the money back, unless you win.",
	processor.Prearbitration: "One side does not accept the result. The card scheme decides if neither gives in.",
}

var states = map[processor.DisputeStatus]string{
	processor.DisputeOpen:       "It waits for your answer. Challenge or accept it in the processor's own dashboard; payledger shows the result.",
	processor.DisputeAccepted:   "You accepted it. The customer keeps the money.",
	processor.DisputeChallenged: "You challenged it. The bank decides.",
	processor.DisputeExpired:    "The deadline passed without an answer.",
	processor.DisputeCancelled:  "It was withdrawn.",
	processor.DisputeWon:        "You won. The money is yours.",
	processor.DisputeLost:       "You lost. The customer keeps the money.",
}

func show(v *frame.Visit) error {
	var found struct {
		Dispute
		History []fact
	}
	if err := v.Get(frame.Path("management", "disputes", v.Request.PathValue("id")), nil, &found); err != nil {
		return err
	}
	out := detail{
		Dispute: found.Dispute, History: found.History, Deadline: deadlineOf(found.Dispute, v.Now()), Stage: stages[found.Type], State: states[found.Status],
		Next: nextstep.Reader{Money: frame.Money}.OfDispute(nextstep.Dispute{
			ID: found.ID, Type: found.Type, Status: found.Status, Amount: found.Amount, Currency: found.Currency, ChallengeRequiredBy: found.ChallengeRequiredBy,
		}),
	}
	slices.Reverse(out.History)
	return v.Show(frame.Page{Name: "dispute", Title: "Dispute of " + frame.Money(found.Amount, found.Currency), Nav: pathDisputes, Live: true, Data: out})
}

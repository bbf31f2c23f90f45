package statistics

import (
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// Hour is an hour in UTC: the number of hours since 1970.
type Hour int64

const (
	microsPerHour = 60 * 60 * 1_000_000
	hoursPerDay   = 24
)

// HourOf returns the hour of a time.
func HourOf(at time.Time) Hour { return Hour(at.UnixMicro() / microsPerHour) }

func (h Hour) String() string { return time.Unix(int64(h)*60*60, 0).UTC().Format(time.RFC3339) }

// MarshalText writes the time at which the hour begins.
func (h Hour) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// Facts are the values of a payment that are counted. Two equal Facts count the same.
type Facts struct {
	Hour                       Hour // of its creation
	Currency                   domain.Currency
	Status                     payment.Status
	Processor                  processor.Name // of the newest authorization
	Network                    domain.Network
	Country                    string // of the issuer, ISO 3166-1 alpha-2; "": the processor did not state it
	Reason                     string // of DECLINED and FAILED (ReasonOf)
	Tries                      int64  // outcomes of the authorizations (Tries)
	Amount, Captured, Refunded int64  // minor units
	Challenge                  Challenge
	Session                    bool // it was made in a client session
}

// FactsOf returns the facts of a payment.
func FactsOf(s *payment.State) Facts {
	f := Facts{
		Hour: HourOf(s.CreatedAt), Currency: s.Currency, Status: s.Status(), Network: s.Method.Card.Network, Country: CountryOf(s),
		Reason: ReasonOf(s), Tries: Tries(s), Amount: int64(s.Amount), Captured: int64(s.Captured()), Refunded: int64(s.Refunded()),
		Challenge: ChallengeOf(s), Session: s.Session != "",
	}
	if op := s.Authorization(); op != nil {
		f.Processor = op.Target.Processor
	}
	return f
}

// CountryOf returns the country of a payment's issuer; "" if the processor has not stated it.
func CountryOf(s *payment.State) string {
	if s.Bin == nil {
		return ""
	}
	return s.Bin.IssuerCountryCode
}

// ReasonOf returns the reason of a DECLINED or FAILED payment: the unified decline code (D13) if
// the issuer declined it, else the type of its status reason; "" for other payments.
func ReasonOf(s *payment.State) string {
	op := s.Authorization()
	if op == nil || op.State != payment.StateDeclined && op.State != payment.StateFailed || s.Captured() > 0 {
		return ""
	}
	reason := op.Answer().Reason()
	switch {
	case reason == nil:
		return ""
	case reason.Type == domain.IssuerDeclined:
		return reason.Decline.Code
	}
	return string(reason.Type)
}

// Challenge is the part of 3-D Secure in a payment. The numbers are stored.
type Challenge int64

// The values of Challenge.
const (
	Unauthenticated   Challenge = iota // without 3-D Secure, or it failed without a challenge
	Frictionless                       // authenticated without a challenge
	ChallengeWaiting                   // the customer has not answered
	ChallengePassed                    // authenticated, or approved after the challenge
	ChallengeUnpassed                  // failed, or given up
)

// ChallengeOf returns the part of 3-D Secure in a payment.
func ChallengeOf(s *payment.State) Challenge {
	const authenticated = "AUTH_SUCCESS"
	op := s.Authorization()
	switch {
	case op == nil || s.Action == nil && s.ThreeDS != authenticated:
		return Unauthenticated
	case s.Action == nil:
		return Frictionless
	case op.State == payment.StateSucceeded || s.ThreeDS == authenticated:
		return ChallengePassed
	case op.State == payment.StateAction || op.State.Open():
		return ChallengeWaiting
	}
	return ChallengeUnpassed
}

type outcome int64

const (
	none     outcome = iota // not tried there, not decided yet, or released before an answer
	approved                // also the authorization of the amount 0, and one that was voided later
	declined                // by the issuer
	failed                  // the processor states that it did nothing, or its key was fenced after no answer
)

const (
	outcomeBits = 2
	outcomes    = 3 // of a try: those after none
)

// Tries returns the outcomes of a payment's authorizations at all processors as one number: two
// bits for each processor, in the order of processor.Names, which only ever grows at its end. A
// route names a processor once.
func Tries(s *payment.State) (tries int64) {
	for i := range s.Operations { // an authorization never leaves the state
		op := &s.Operations[i]
		if op.Kind != processor.Authorize {
			continue
		}
		var to outcome
		switch op.State {
		case payment.StateSucceeded:
			to = approved
		case payment.StateDeclined:
			to = declined
		case payment.StateFailed:
			to = failed
		default:
			continue
		}
		if place := slices.Index(processor.Names, op.Target.Processor); place >= 0 {
			tries = tries&^(3<<(outcomeBits*place)) | int64(to)<<(outcomeBits*place)
		}
	}
	return tries
}

func outcomeAt(tries int64, place int) outcome { return outcome(tries >> (outcomeBits * place) & 3) }

package payment_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// arguments are the named arguments of a command.
type arguments map[string]string

// amount returns the named amount; nil if absent.
func (a arguments) amount(t *testing.T, name string) *domain.Amount {
	t.Helper()
	if a[name] == "" {
		return nil
	}
	return new(domain.Amount(number(t, a[name])))
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// metadata reads "k:v".
func (a arguments) metadata() domain.Metadata {
	key, value, found := strings.Cut(a["metadata"], ":")
	if !found {
		return nil
	}
	return domain.Metadata{key: value}
}

// decide calls the Decide function of a command.
func (s *story) decide(t *testing.T, words []string, args arguments) (payment.Event, error) {
	t.Helper()
	request := payment.Request{
		At: s.clock, EventID: fmt.Sprintf("event-%d", s.state.Revision+1), IdempotencyKey: args["key"],
	}
	switch words[0] {
	case "create":
		return payment.DecideCreate(s.state, s.create(t, words, args))
	case "answer":
		return payment.DecideAnswer(s.state, s.answer(t, words, args, request))
	case "timeout":
		return payment.DecideTimeOut(s.state, payment.TimeOut{At: s.clock, Request: s.revision(t, words[1])})
	case "outOfBand":
		return payment.DecideOutOfBand(s.state, s.outOfBand(t, words, args, request))
	case "resume":
		return payment.DecideResume(s.state, payment.Resume{
			Request: request, Action: s.revision(t, words[1]), Outcome: processor.Outcome(words[2]),
		})
	case "expire":
		return payment.DecideResume(s.state, payment.Resume{
			Request: request, Action: s.revision(t, words[1]), Outcome: processor.AuthenticationFailed, Expired: true,
		})
	case "capture":
		return payment.DecideCapture(s.state, payment.Capture{
			Request: request, Amount: args.amount(t, "amount"), Final: args["final"] != "false", Metadata: args.metadata(),
		})
	case "cancel":
		return payment.DecideCancel(s.state, payment.Cancel{Request: request, Reason: args["reason"]})
	case "refund":
		return payment.DecideRefund(s.state, payment.Refund{
			Request: request, Amount: args.amount(t, "amount"), OrderID: args["order"], Reason: args["reason"],
			TransactionEventID: args["capture"], Metadata: args.metadata(),
		})
	case "adjust":
		return payment.DecideAdjust(s.state, payment.Adjust{Request: request, Amount: *args.amount(t, "amount")})
	default:
		t.Fatalf("no command is called %s", words[0])
		return nil, nil
	}
}

// revision reads the revision of the request that a command names.
func (s *story) revision(t *testing.T, word string) uint64 {
	t.Helper()
	if word != "last" {
		return uint64(number(t, word))
	}
	all := s.state.Whole().Operations
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].Revision
}

func (s *story) answer(t *testing.T, words []string, args arguments, r payment.Request) payment.RecordAnswer {
	t.Helper()
	return payment.RecordAnswer{
		At: s.clock, EventID: r.EventID, Request: s.revision(t, words[1]), ActionExpiresAt: s.clock.Add(24 * time.Hour),
		Answer: processor.Answer{
			State: processor.State(words[2]), ProcessorTransactionID: args["transaction"], ProcessorEventID: args["event"],
			Code: args["code"], Message: args["message"], AuthorizationCode: args["authorization"], ThreeDS: args["threeDS"],
			Retryable: slices.Contains(words, "retryable"),
		},
	}
}

func (s *story) create(t *testing.T, words []string, args arguments) payment.Create {
	t.Helper()
	c := payment.Create{
		At: s.clock, ID: "01payment", Account: "acct", OrderID: args["order"], CustomerID: args["customer"],
		Currency: domain.Currency(args["currency"]), Amount: args.amount(t, "amount"), Metadata: args.metadata(),
		IdempotencyKey: args["key"], Session: "session-1", AutoCapture: slices.Contains(words, "automatic"),
		Method: payment.Method{
			Token: "token-1", Type: "PAYMENT_CARD", TokenizedAt: s.clock.Add(-time.Minute), AuthorizationType: "FINAL",
			Card: domain.NewCard("4111111111111111", "12", "2030", true),
		},
	}
	if slices.Contains(words, "estimated") {
		c.Method.AuthorizationType = "ESTIMATED"
	}
	if args["method"] != "" {
		c.Method.Type = args["method"]
	}
	for name := range strings.SplitSeq(args["to"], ",") {
		if name != "" {
			c.Route = append(c.Route, payment.Target{Processor: processor.Name(name), MerchantID: "merchant-" + strings.ToLower(name)})
		}
	}
	return c
}

// outOfBand returns the command for an operation in the processor's books: "outOfBand capture
// id=op-1 amount=500".
func (s *story) outOfBand(t *testing.T, words []string, args arguments, r payment.Request) payment.RecordOutOfBand {
	t.Helper()
	var there payment.Target
	if op := s.state.Authorization(); op != nil {
		there = op.Target
	}
	c := payment.RecordOutOfBand{At: s.clock, EventID: r.EventID, Record: processor.Record{
		Processor:  processor.Name(cmp.Or(args["at"], string(there.Processor))),
		MerchantID: cmp.Or(args["merchant"], there.MerchantID), Currency: domain.Currency(cmp.Or(args["currency"], string(s.state.Currency))),
		ID: args["id"], Kind: processor.Kind(words[1]), Key: domain.OperationKey(args["key"]), ParentID: args["of"],
		Final: slices.Contains(words, "final"), State: processor.Succeeded, CreatedAt: s.clock.Add(-time.Minute),
		Answer: processor.Answer{ProcessorTransactionID: args["transaction"], ProcessorEventID: args["event"]},
	}}
	if amount := args.amount(t, "amount"); amount != nil {
		c.Record.Amount = *amount
	}
	c.Overtaken = slices.Contains(words, "overtaken")
	if args["state"] != "" {
		c.Record.State = processor.State(args["state"])
	}
	c.Record.Answer.State = processor.State(cmp.Or(args["answer"], string(c.Record.State)))
	c.Record.Answer.Amount = args.amount(t, "stated")
	return c
}

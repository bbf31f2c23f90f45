package program_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/connector"
	"payledger/processorsim/connector/program"
	"payledger/processorsim/protocol"
)

// bank stands for the client of a vendor's API. This vendor does nothing twice under one key, keeps
// its keys for a day, finds an operation by its key, and answers at once.
type bank struct {
	mu       sync.Mutex
	done     map[string]connector.Result // by Order.Key
	payments map[string]*payment         // by transaction
}

type payment struct{ held, captured, refunded domain.Amount }

// The test cards of the bank.
const (
	approved = "4242424242424242"
	declined = "4000000000000002"
)

func (b *bank) Declaration() protocol.Declaration {
	return protocol.Declaration{
		Connector: "bank 1", Live: false, TestCards: map[protocol.TestCase]string{protocol.CardApproved: approved, protocol.CardDeclined: declined},
		Cannot: []protocol.Lack{
			{Capability: protocol.CanAdjust, Instead: "A change of an authorization is FAILED."},
			{Capability: protocol.CanRefundCapture, Instead: "A refund that names a capture is FAILED."},
			{Capability: protocol.CanAuthenticate, Instead: "An authorization that needs its customer is DECLINED."},
			{Capability: protocol.CanReportDisputes, Instead: "Disputes stand in the bank's letters."},
			{Capability: protocol.CanListByTime, Instead: "A list has the operations of this connector only."},
			{Capability: protocol.CanListByReference, Instead: "A list has the operations of this connector only."},
			{Capability: protocol.CanTokenize, Instead: "A card is paid with its number."},
		},
	}
}

func (b *bank) KeyLife() time.Duration { return 24 * time.Hour }

// Send calls the vendor. An answer that is certain is a result, also a refusal. All other errors
// mean that the outcome is unknown.
func (b *bank) Send(_ context.Context, o connector.Order) (connector.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r, repeated := b.done[o.Key]; repeated {
		return r, nil
	}
	r := connector.Result{Amount: o.Amount, Currency: o.Currency, Answer: b.move(o)}
	r.Answer.At = time.Now()
	b.done[o.Key] = r
	return r, nil
}

// Find calls the vendor, too. It says Nothing only when no request can be on its way any more.
func (b *bank) Find(_ context.Context, o connector.Order) (connector.Finding, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r, found := b.done[o.Key]; found {
		return connector.Finding{Result: &r}, nil
	}
	return connector.Finding{Nothing: time.Since(o.Tried) > time.Minute}, nil
}

// Events reads what the vendor sends to connector.EventsPath. This one sends nothing.
func (b *bank) Events(context.Context, http.Header, []byte) ([]connector.Event, error) {
	return nil, errors.New("the bank sends no messages")
}

// move is the vendor itself.
func (b *bank) move(o connector.Order) processor.Answer {
	refused := func(code protocol.Code) processor.Answer {
		return processor.Answer{State: processor.Failed, Code: code}
	}
	if o.Kind == processor.Authorize && o.Card.Number == declined {
		return processor.Answer{State: processor.Declined, Code: "05"}
	}
	transaction := "tx_" + strconv.Itoa(len(b.done)+1)
	p := b.payments[o.ParentID]
	switch {
	case o.Kind == processor.Authorize:
		b.payments[transaction] = &payment{held: o.Amount}
	case o.Kind == processor.Adjust || o.Kind == processor.Complete || o.Parent != nil && o.Parent.Kind != processor.Authorize:
		return refused(protocol.CodeNotSupported)
	case p == nil || o.Parent == nil || o.Parent.Reference != o.Reference:
		return refused(protocol.CodeParentNotFound)
	case o.Kind != processor.Void && o.Currency != o.Parent.Currency:
		return refused(protocol.CodeCurrencyMismatch)
	case o.Kind == processor.Void && p.captured == p.held:
		return refused(protocol.CodeAlreadyCaptured)
	case o.Kind == processor.Void:
		p.held, transaction = p.captured, o.ParentID
	case o.Kind == processor.Capture && o.Amount > p.held-p.captured:
		return refused(protocol.CodeAboveAuthorized)
	case o.Kind == processor.Capture:
		if p.captured += o.Amount; o.Final {
			p.held = p.captured
		}
	case o.Amount > p.captured-p.refunded:
		return refused(protocol.CodeAboveCaptured)
	default:
		p.refunded += o.Amount
	}
	return processor.Answer{State: processor.Succeeded, ProcessorTransactionID: transaction}
}

// newProgram returns the connector. All of its main.go is
//
//	func main() { newProgram().Main() }
func newProgram() *program.Program {
	var key string
	p := program.New("bank", processor.Worldpay, "127.0.0.1:8482")
	p.Secret(&key, "api-key-file", "BANK_API_KEY", "the API key")
	p.Vendor = func(zerolog.Logger) (connector.Vendor, error) {
		return &bank{done: map[string]connector.Result{}, payments: map[string]*payment{}}, nil // a real one takes the key
	}
	return p
}

// A whole connector for a vendor in memory. It runs, and takes two operations of the ledger.
func Example() {
	dir, _ := os.MkdirTemp("", "bank") // the program keeps its book here
	defer os.RemoveAll(dir)
	secrets := map[string]string{"BANK_API_KEY": "k", "PAYLEDGER_PROCESSOR_TOKEN": "t", "PAYLEDGER_PROCESSOR_SECRET": "s"}
	p := newProgram()
	if err := p.Parse([]string{"--data", dir, "--listen", "127.0.0.1:0"}, func(name string) (string, bool) { return secrets[name], true }); err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	out, in := io.Pipe()
	ended := make(chan error)
	go func() { ended <- p.Run(ctx, in, zerolog.Nop()) }()
	line, _ := bufio.NewReader(out).ReadBytes('\n')
	var ready program.Ready
	_ = json.Unmarshal(line, &ready)

	ledger, err := adapter.Open(adapter.Connection{URL: ready.URL, Token: "t"})
	if err != nil {
		fmt.Println(err)
		return
	}
	op := processor.Operation{
		Kind: processor.Authorize, Key: "01abc.1", Processor: ready.Processor, MerchantID: "shop", Reference: "01abc", Amount: 1250, Currency: "EUR",
		Card: &processor.Card{Number: approved, ExpirationMonth: "12", ExpirationYear: "2035"},
	}
	authorized, err := ledger.Send(ctx, op)
	fmt.Println(op.Kind, authorized.State, authorized.ProcessorTransactionID, err)
	op.Kind, op.Key, op.Card, op.ParentID, op.Amount = processor.Capture, "01abc.2", nil, authorized.ProcessorTransactionID, 2000
	captured, err := ledger.Send(ctx, op)
	fmt.Println(op.Kind, captured.State, captured.Code, err)

	ledger.Close()
	stop()
	fmt.Println("ended:", <-ended)
	// Output:
	// authorize SUCCEEDED tx_1 <nil>
	// capture FAILED amount_above_authorized <nil>
	// ended: <nil>
}

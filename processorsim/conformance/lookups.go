package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

var lookupChecks = []check{
	{
		id:      "lookup.unseen",
		promise: "A look-up of a key that never came is UNSEEN, each time.",
		meaning: "The ledger records an outcome of an operation that never happened.",
		run: func(p *probe) {
			for range 3 {
				p.untouched(p.key())
			}
		},
	},
	{
		id:      "lookup.key-in-path",
		promise: "A key of any visible ASCII characters, escaped as one segment of the path, is taken unchanged.",
		meaning: "A look-up finds another operation than the one that it names.",
		run: func(p *probe) {
			for _, key := range []domain.OperationKey{"a/b", "..", ".", "a%2Fb", "a?b#c", "a//b", "~!$&'()*+,;=:@[]"} {
				if found := p.lookup(processor.Operation{Key: domain.OperationKey(p.reference) + key}); found.State != processor.Unseen {
					p.broken("the look-up of an odd key is %s, want UNSEEN", found.State)
				}
			}
		},
	},
	{
		id:      "lookup.after",
		promise: "A look-up of an operation that had an answer is KNOWN with the same answer, for a success, a decline and a refusal.",
		meaning: "After a lost answer the ledger records another outcome than the processor's.",
		moves:   true,
		run:     checkLookupAfter,
	},
	{
		id:      "lookup.during",
		promise: "While an operation runs its look-up is UNSEEN, RUNNING or KNOWN, never goes back, and a KNOWN answer stays.",
		meaning: "The ledger sends an operation again that has already moved money.",
		moves:   true,
		run:     checkLookupDuring,
	},
	{
		id:      "lookup.lost-answer",
		promise: "When the connection is cut after the request was sent, the look-up tells the outcome, a repeat under the key has the same, and the list has one operation.",
		meaning: "A customer pays twice, or pays and the order is not delivered.",
		moves:   true,
		run:     checkLostAnswer,
	},
}

func text(key any) string { return fmt.Sprint(key) }

func checkLookupAfter(p *probe) {
	approved := p.authorize(protocol.CardApproved, 1000)
	first := p.succeeds(approved)
	above := p.on(first, processor.Capture, 1001)
	refusal := p.refused(above, "above the authorization")
	p.same("the look-up of an authorization", p.known(approved), first)
	p.same("the look-up of a refused capture", p.known(above), refusal)
	if p.declared.TestCards[protocol.CardDeclined] != "" {
		declined := p.authorize(protocol.CardDeclined, 1000)
		answer := p.ended(declined)
		p.same("the look-up of a declined authorization", p.known(declined), answer)
	}
}

// rank is the order of the states of a look-up: they never go back.
var rank = map[processor.LookupState]int{processor.Unseen: 0, processor.Running: 1, processor.Known: 2}

func checkLookupDuring(p *probe) {
	for range 5 {
		op := p.authorize(protocol.CardApproved, 1000)
		var answer processor.Answer
		var err error
		over := make(chan struct{})
		go func() {
			defer close(over)
			answer, err = p.client.Send(p.ctx, op)
		}()
		before, known := processor.Unseen, (*processor.Answer)(nil)
		for running := true; running; {
			select {
			case <-over:
				running = false
			default:
			}
			found, failed := p.client.Lookup(p.ctx, p.Processor, op.Key)
			if failed != nil {
				<-over
				p.broken("a look-up while the operation runs has no answer: %v", failed)
			}
			if _, possible := rank[found.State]; !possible || rank[found.State] < rank[before] {
				<-over
				p.broken("the look-up is %s after %s", found.State, before)
			}
			if before = found.State; found.State == processor.Known {
				found.Answer.RawAnswer = nil
				if known != nil && known.State != processor.Pending && encoded(found.Answer) != encoded(known) {
					<-over
					p.broken("the look-up is %s after %s", encoded(found.Answer), encoded(known))
				}
				known = found.Answer
			}
		}
		if err != nil {
			p.broken("authorize has no answer that is a fact: %v", err)
		}
		answer.RawAnswer = nil
		p.remember(op, answer)
		p.same("the look-up during the operation", p.known(op), answer)
	}
}

func checkLostAnswer(p *probe) {
	for i := range 6 {
		op := p.authorize(protocol.CardApproved, 1000)
		if err := p.sendAndCut(op, i%2 == 1); err != nil {
			p.broken("the request could not be sent: %v", err)
		}
		var fact *processor.Answer
		if found := p.lookup(op); found.State == processor.Known {
			fact = found.Answer
		}
		_, err := p.try(op)
		p.until("the answer to a repeat", func() bool { // 409 while the first runs
			if err != nil {
				_, err = p.try(op)
			}
			return err == nil
		})
		answer := p.ended(op)
		if answer.State != processor.Succeeded {
			p.broken("a repeat after a lost answer is %s %s, want SUCCEEDED", answer.State, answer.Code)
		}
		if fact != nil {
			p.same("a repeat after the look-up", answer, *fact)
		}
		p.same("the look-up after a repeat", p.known(op), answer)
		p.once(op.Key)
	}
	if n := len(p.listed()); n != 6 {
		p.broken("6 operations with lost answers are %d in the list", n)
	}
}

// together sends an operation several times at once.
func (p *probe) together(times int, op func(i int) processor.Operation) (answers []processor.Answer, failed []error) {
	answers, failed = make([]processor.Answer, times), make([]error, times)
	ops := make([]processor.Operation, times)
	for i := range times {
		ops[i] = op(i)
	}
	var group sync.WaitGroup
	for i := range times {
		group.Go(func() { answers[i], failed[i] = p.client.Send(p.ctx, ops[i]) })
	}
	group.Wait()
	for i := range times {
		if answers[i].RawAnswer = nil; failed[i] == nil {
			p.remember(ops[i], answers[i])
		}
	}
	return answers, failed
}

// sendAndCut sends a whole operation on a connection of its own and closes that without reading an
// answer; hard resets it.
func (p *probe) sendAndCut(op processor.Operation, hard bool) error {
	target, err := url.Parse(p.URL + protocol.OperationsPath(op.Processor))
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(p.ctx, http.MethodPost, target.String(), bytes.NewBufferString(encoded(op)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(protocol.HeaderIdempotencyKey, string(op.Key))
	if p.Token != "" {
		r.Header.Set("Authorization", "Bearer "+p.Token)
	}
	connection, plain, err := p.connect(target)
	if err != nil {
		return err
	}
	if hard {
		_ = plain.SetLinger(0)
	}
	p.log.add(&Exchange{Method: r.Method, Path: r.URL.Path, Key: string(op.Key), Error: "the suite cut the connection after sending"})
	return errors.Join(r.Write(connection), connection.Close())
}

// connect opens a connection to the connector, and returns its TCP connection as well.
func (p *probe) connect(target *url.URL) (net.Conn, *net.TCPConn, error) {
	address := target.Host
	if target.Port() == "" {
		address = net.JoinHostPort(target.Hostname(), target.Scheme)
	}
	var dialer net.Dialer
	ctx, cancel := context.WithTimeout(p.ctx, p.Patience)
	defer cancel()
	opened, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	plain, is := opened.(*net.TCPConn)
	if !is {
		return nil, nil, errors.Join(errors.New("the connection is not over TCP"), opened.Close())
	}
	if target.Scheme != "https" {
		return plain, plain, nil
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if p.HTTP.TLSClientConfig != nil {
		settings = p.HTTP.TLSClientConfig.Clone()
	}
	settings.NextProtos, settings.ServerName = nil, target.Hostname()
	secured := tls.Client(plain, settings)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, nil, errors.Join(err, plain.Close())
	}
	return secured, plain, nil
}

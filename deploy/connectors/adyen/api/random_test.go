package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// player makes random calls of one operation.
type player struct {
	*rig
	random *rand.Rand
	seed   uint64
	op     processor.Operation
	known  *processor.Answer
	fenced bool
	unsent [][]byte
	steps  map[string]int
	base   int // effects before the operation
}

// TestRandom: whatever is lost, late, refused, repeated or killed, and however webhooks come, no
// operation is done twice, none is done behind a fence, a final answer stays, and each one ends.
func TestRandom(t *testing.T) {
	steps := map[string]int{}
	for seed := range uint64(60) {
		p := &player{rig: newRig(t), random: rand.New(rand.NewPCG(seed, 7)), seed: seed, steps: steps} //nolint:gosec // a fixed seed
		p.op = authorization(fmt.Sprintf("01p.%d", seed), approvedCard)
		if p.random.IntN(3) == 0 {
			sale := p.sent(authorization("01p.sale", approvedCard))
			p.op = following(processor.Capture, fmt.Sprintf("01p.%d", seed), sale.ProcessorTransactionID, 1250)
		}
		p.base = p.d.total()
		for range 3 + p.random.IntN(8) {
			p.step()
		}
		p.end()
	}
	for _, what := range []string{"KNOWN", "FENCED", "fenced", "kill", "undone"} {
		if steps[what] < 5 {
			t.Errorf("%s came %d times: %v", what, steps[what], steps)
		}
	}
	t.Log(steps)
}

func (p *player) learn(what string, a processor.Answer) {
	p.steps[what]++
	if p.known != nil && p.known.State != processor.Pending && (a.State != p.known.State || a.ProcessorTransactionID != p.known.ProcessorTransactionID) {
		p.t.Errorf("seed %d: %s says %+v after %+v", p.seed, what, a, *p.known)
	}
	p.known = &a
}

func (p *player) step() {
	ctx := context.Background()
	p.wire.mu.Lock()
	p.wire.next = mode(p.random.IntN(int(modes)))
	killing := p.wire.next == killed
	p.wire.hung = make(chan struct{})
	hung := p.wire.hung
	p.wire.mu.Unlock()
	called := make(chan struct{})
	call := p.random.IntN(4)
	go func() {
		defer close(called)
		p.call(ctx, call)
	}()
	if killing {
		select {
		case <-hung:
			p.steps["kill"]++
			p.kill()
		case <-called: // no request was made
		}
	}
	<-called
	p.wire.mu.Lock()
	p.wire.next = arrives
	p.wire.mu.Unlock()
	switch p.random.IntN(7) {
	case 0:
		p.wire.flush()
	case 1:
		p.now = p.now.Add(5 * time.Minute)
	case 2:
		p.wire.flush() // it arrives in time, or never
		p.now = p.now.Add(7 * time.Hour)
	case 3, 4:
		p.hooks()
	}
}

func (p *player) call(ctx context.Context, what int) {
	switch what {
	case 0, 1:
		a, err := p.k.Send(ctx, p.op)
		switch {
		case err != nil:
		case a.Code == protocol.CodeFenced:
			if p.steps["fenced"]++; p.known != nil {
				p.t.Errorf("seed %d: fenced after %+v", p.seed, *p.known)
			}
			p.fenced = true
		default:
			p.learn("answer", a)
		}
	default:
		ask := p.k.Lookup
		if what == 3 && p.random.IntN(2) == 0 {
			ask = p.k.Fence
		}
		l, err := ask(ctx, processor.Adyen, p.op.Key)
		if err == nil && l.State == processor.Known {
			p.learn("KNOWN", *l.Answer)
		}
		if err == nil && l.State == processor.Fenced {
			p.steps["FENCED"]++
			p.fenced = true
		}
	}
}

// hooks sends webhooks in any order, some twice, some later.
func (p *player) hooks() {
	p.unsent = append(p.unsent, p.d.drain()...)
	p.random.Shuffle(len(p.unsent), func(i, j int) { p.unsent[i], p.unsent[j] = p.unsent[j], p.unsent[i] })
	for n := p.random.IntN(len(p.unsent) + 1); n > 0; n-- {
		body := p.unsent[0]
		if len(p.messages(body)) == 0 || p.random.IntN(3) == 0 { // refused, or its answer is lost: it comes again
			p.unsent = append(p.unsent, body)
		}
		p.unsent = p.unsent[1:]
	}
}

// end lets everything arrive, and compares.
func (p *player) end() {
	p.wire.flush()
	l := processor.Lookup{}
	for range 4 {
		p.now = p.now.Add(7 * time.Hour)
		l = p.lookup(p.op.Key)
		p.messages(append(p.unsent, p.d.drain()...)...)
		l = p.lookup(p.op.Key)
	}
	n := p.d.total() - p.base
	switch {
	case l.State == processor.Running, l.State == processor.Known && l.Answer.State == processor.Pending:
		p.t.Errorf("seed %d: %s %+v stays open: %s", p.seed, l.State, l.Answer, p.log)
	case p.fenced && (n != 0 || l.State != processor.Fenced), l.State == processor.Unseen && n != 0:
		p.t.Errorf("seed %d: it is %s, and done %d times", p.seed, l.State, n)
	case l.State == processor.Known && l.Answer.Code == protocol.CodeVoided:
		if p.steps["undone"]++; n != 0 {
			p.t.Errorf("seed %d: undone, and done %d times", p.seed, n)
		}
	case l.State == processor.Known && (n != 1 || l.Answer.State != processor.Succeeded):
		p.t.Errorf("seed %d: %+v, and done %d times", p.seed, *l.Answer, n)
	}
}

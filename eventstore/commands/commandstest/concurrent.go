package commandstest

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"payledger/domain/seedtest"
	"payledger/eventstore/commands/service"
)

// History collects the requests and answers of concurrent clients, with their times.
type History struct {
	began time.Time
	mu    sync.Mutex
	list  []porcupine.Operation
}

// NewHistory begins a history.
func NewHistory() *History { return &History{began: time.Now()} }

// Call runs a request of a client, and records its answer.
func (h *History) Call(client int, input any, run func() any) {
	from := time.Since(h.began)
	output := run()
	to := time.Since(h.began)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, porcupine.Operation{ClientId: client, Input: input, Call: int64(from), Output: output, Return: int64(to)})
}

// Linearizable fails the test unless the answers fit one order of the requests, and shows the
// answers.
func (h *History) Linearizable(t *testing.T, model porcupine.Model) {
	t.Helper()
	result, _ := porcupine.CheckOperationsVerbose(model, h.list, time.Minute)
	if result != porcupine.Ok {
		for _, o := range h.list {
			t.Logf("%12d–%12d %s", o.Call, o.Return, model.DescribeOperation(o.Input, o.Output))
		}
		t.Errorf("the answers fit no order of the requests: %s", result)
	}
}

// Clients runs n clients at the same time, alternating between two nodes. Each client sends one
// request after the other.
func (r *Rig) Clients(nodes []*Node, n int, run func(client int, s *service.Service)) {
	var all sync.WaitGroup
	for client := range n {
		all.Go(func() { run(client, nodes[client%len(nodes)].Service) })
	}
	all.Wait()
}

// TwoNodes starts two processes without faults.
func (r *Rig) TwoNodes() []*Node {
	return []*Node{r.NewNode(r.T, time.Minute, nil), r.NewNode(r.T, time.Minute, nil)}
}

// Seeded returns random numbers from the seed of the test run.
func Seeded(t *testing.T) *rand.Rand {
	return rand.New(rand.NewPCG(seedtest.Seed(t), 0))
}

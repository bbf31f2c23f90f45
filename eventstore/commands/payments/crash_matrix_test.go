package payments_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/seedtest"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/service"
	"payledger/processorsim/adapter"
)

// effect is one effect of a command. If it never happens, the payment ends otherwise.
type effect struct {
	on  string // an event that is appended, or "send <operation>"
	nth int    // of several; 0 is the first

	neverStatus payment.Status // of calls: the payment's last status if the call never arrives
	neverBooks  string
}

// action is a command of the matrix.
type action struct {
	name    string
	prepare func(*scenario) // brings a payment to where the command can be given
	give    func(h *scenario, n *commandstest.Node) error
	repeat  func(h *scenario, s *service.Service) error // the request once more; nil: give's own
	effects []effect
	status  payment.Status // in the end
	books   string         // operations and states in the end
}

// scenario plays one row.
type scenario struct {
	*rig
	action  action
	fault   *commandstest.Fault
	healthy *service.Service // of another node, which is well
	key     string           // of the command
	token   domain.Token
	id      domain.PaymentID
	made    payment.State // as prepared
}

// TestCrashMatrix: any effect of any command fails before it happened, takes effect and loses its
// answer, or happens twice, with and without the end of the process, and with a concurrent repeat:
// the command has one outcome, its operation is in the processors' books once, and the repeat is
// refused as a used key (D8, D9).
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	healthy := r.NewNode(t, time.Minute, nil)
	row, played := 0, map[commandstest.FailureMode]bool{}
	for _, a := range slices.Concat(actions, behind) {
		for _, e := range a.effects {
			for _, w := range modesOf(e) {
				row++
				if (seedtest.Sampled() && row%17 > 0 || !seedtest.Turn(row, 3)) && played[w] { // 17 is prime to the numbers of modes
					continue
				}
				played[w] = true
				h := &scenario{action: a, fault: commandstest.NewNthFault(e.on, max(1, e.nth), w), healthy: healthy.Service, key: fmt.Sprintf("key-%d", row)}
				name := strings.ReplaceAll(fmt.Sprintf("%s: %s", a.name, e.on), "payment.", "")
				if e.nth > 1 {
					name += " again"
				}
				t.Run(name+" "+string(w), func(t *testing.T) {
					t.Parallel()
					h.rig = r.with(t)
					h.play(e)
				})
			}
		}
	}
}

// modesOf lists the failure modes of an effect. Broken connections take seconds: short runs leave
// them to the tests of the store.
func modesOf(e effect) []commandstest.FailureMode {
	if e.on == commandstest.LookUp {
		return []commandstest.FailureMode{commandstest.LostBefore, commandstest.LostAfter, commandstest.CrashBefore, commandstest.Overtaken, commandstest.Left}
	}
	if strings.HasPrefix(e.on, "send ") {
		return []commandstest.FailureMode{commandstest.LostBefore, commandstest.LostAfter, commandstest.Twice, commandstest.CrashBefore, commandstest.CrashAfter, commandstest.Overtaken, commandstest.Left, commandstest.Late, commandstest.Never}
	}
	ways := []commandstest.FailureMode{commandstest.Refuses, commandstest.Twice, commandstest.CrashBefore, commandstest.CrashAfter, commandstest.Overtaken, commandstest.Left}
	if !seedtest.Sampled() {
		ways = append(ways, commandstest.LostBefore, commandstest.LostAfter)
	}
	return ways
}

// play runs the command on a node with the row's fault and compares the result with the books.
func (h *scenario) play(e effect) {
	n := h.NewNode(h.T, time.Minute, h.fault)
	h.T.Cleanup(func() { commandstest.CloseOnce(h.fault.Resume) }) // before the node ends
	h.action.prepare(h)
	given := n.UntilFault(func() error { return h.action.give(h, n) })
	switch h.fault.Mode {
	case commandstest.CrashBefore, commandstest.CrashAfter:
		n.Kill()
		<-given
		h.recovers()
	case commandstest.Overtaken:
		h.overtakes(given)
	case commandstest.Left:
		n.HangUp()
		commandstest.CloseOnce(h.fault.Resume)
		h.accepted(<-given)
	case commandstest.Late, commandstest.Never:
		h.Ahead.Store(int64(2 * time.Minute)) // the payment timeout is over
		h.Until(h.id, "an unknown outcome", func(p payment.State) bool {
			return p.StatusReason() != nil && p.StatusReason().Type == domain.GatewayTimeout
		})
		h.accepted(<-given)
		commandstest.CloseOnce(h.fault.Resume)
	case commandstest.Refuses:
		h.refusedOnce(n, <-given)
	default:
		h.accepted(<-given)
	}
	h.ends(e)
}

// recovers lets another process take over, and the client repeats its request. The repeat is
// refused as a used key if the request was recorded; otherwise the repeat is the first. A draft
// that the dead process had handed to the owner of the shard can be recorded just before the
// repeat.
func (h *scenario) recovers() {
	h.T.Helper()
	if err := h.healthy.Recover(background, h.By.Account, h.id); err != nil {
		h.T.Fatal(err)
	}
	h.quiet()
	used := h.keyUsed()
	err := h.again()
	if used || err != nil {
		h.isRepeat(err)
	} else {
		h.accepted(err)
	}
}

// overtakes: while the effect is about to happen, another node recovers the payment and the client
// repeats its request there. One of the two is carried out.
func (h *scenario) overtakes(given <-chan error) {
	h.T.Helper()
	if err := h.healthy.Recover(background, h.By.Account, h.id); err != nil {
		h.T.Fatal(err)
	}
	if h.Payment(h.id).Exists() {
		h.quiet()
	}
	second := h.again()
	commandstest.CloseOnce(h.fault.Resume)
	first := <-given
	if first == nil {
		h.isRepeat(second)
	} else {
		h.isRepeat(first)
		h.accepted(second)
	}
}

// refusedOnce: the store took nothing. The caller's request is refused and may be repeated; an
// outcome is recorded later.
func (h *scenario) refusedOnce(n *commandstest.Node, err error) {
	h.T.Helper()
	if err != nil {
		commandstest.Refused(h.T, err, domain.ReasonServiceUnavailable)
		h.accepted(h.repeat(n.Service))
	}
}

// ends checks that the payment has its one outcome.
func (h *scenario) ends(e effect) {
	h.T.Helper()
	p := h.quiet()
	status, books := h.action.status, h.action.books
	if h.fault.Mode == commandstest.Never {
		status, books = e.neverStatus, e.neverBooks
	}
	lines, err := h.Sim.Books(background, adapter.Filter{Reference: h.id})
	if err != nil {
		h.T.Fatal(err)
	}
	var got []string
	for _, l := range lines {
		got = append(got, string(l.Operation)+" "+string(l.State))
	}
	if p.Status() != status || strings.Join(got, ", ") != books {
		h.T.Errorf("ended %s with [%s] in the books; want %s with [%s]: %+v", p.Status(), strings.Join(got, ", "), status, books, p.Operations)
	}
	if err := commandstest.Audit(p, lines); err != nil {
		h.T.Error(err)
	}
	h.isRepeat(h.again())
	if after := h.Payment(h.id); after.Revision != p.Revision {
		h.T.Errorf("a repeat changed the payment: %d events, then %d", p.Revision, after.Revision)
	}
}

// quiet waits until no outcome is owed. Behind a dead process the payment is recovered again and
// again, as a node's schedule does: a draft that it had handed over can be recorded at any time.
func (h *scenario) quiet() payment.State {
	h.T.Helper()
	if p := h.Payment(h.id); !p.Exists() {
		return p
	}
	return h.Until(h.id, "an end", func(p payment.State) bool {
		if commandstest.Finished(p) || !h.fault.Mode.Ends() {
			return commandstest.Finished(p)
		}
		if err := h.healthy.Recover(background, h.By.Account, h.id); err != nil {
			h.T.Error(err)
		}
		return false
	})
}

func (h *scenario) again() error { return h.repeat(h.healthy) }

func (h *scenario) repeat(s *service.Service) error {
	if h.action.repeat != nil {
		return h.action.repeat(h, s)
	}
	return h.action.give(h, &commandstest.Node{Service: s, Ctx: background})
}

func (h *scenario) accepted(err error) {
	h.T.Helper()
	if err != nil {
		h.T.Fatal("the command failed:", err)
	}
}

// isRepeat: the key is used, and the answer names the payment (D9).
func (h *scenario) isRepeat(err error) {
	h.T.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Reason != domain.ReasonIdempotencyKeyExists || e.Payment != h.id || e.Status == "" {
		h.T.Errorf("the repeat got %+v", err)
	}
}

// keyUsed reports whether the payment knows the command's key.
func (h *scenario) keyUsed() bool {
	for _, hash := range h.Payment(h.id).KeyHashes {
		if hash == domain.KeyHash(h.By.Account, h.key) {
			return true
		}
	}
	return false
}

package notifier

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/notifier/delivery"
	"payledger/notifier/message"
)

// story has the answer to each call of each delivery, and stops, crashes and rotations between the
// calls.
type story struct {
	events, endpoints int
	answers           [][]int // per endpoint: of each call in order; the last one repeats
	acts              []act
}

type act struct {
	after time.Duration
	what  string
	down  time.Duration
}

// answerHang and answerCut are answers beside status codes.
const (
	answerHang = 0
	answerCut  = 1
)

func stories(t *rapid.T) story {
	s := story{events: rapid.IntRange(1, 6).Draw(t, "events"), endpoints: rapid.IntRange(1, 3).Draw(t, "endpoints")}
	for range s.endpoints {
		s.answers = append(s.answers, rapid.SliceOfN(rapid.SampledFrom([]int{200, 204, 301, 410, 429, 500, 500, 500, answerHang, answerCut}), 1, 8).Draw(t, "answers"))
	}
	for range rapid.IntRange(0, 6).Draw(t, "acts") {
		s.acts = append(s.acts, act{
			after: time.Duration(rapid.IntRange(0, 600).Draw(t, "after")) * time.Second,
			what:  rapid.SampledFrom([]string{"stop", "crash", "rotate", "disable", "plan"}).Draw(t, "what"),
			down:  time.Duration(rapid.IntRange(0, 900).Draw(t, "down")) * time.Second,
		})
	}
	return s
}

// TestDeliveriesEnd checks, for random answers, stops, crashes and rotations, that every delivery
// ends with at most six recorded automatic attempts and none after a success, that only an attempt
// that a stop or a crash interrupted is repeated, and that each request is signed with exactly the
// valid secrets.
func TestDeliveriesEnd(t *testing.T) {
	t.Parallel()
	seedtest.Check(t, func(rt *rapid.T) {
		s := stories(rt)
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = s.play(t) })
		if len(faults) > 0 {
			rt.Fatalf("%+v\n%v", s, faults)
		}
	})
}

// play plays the story, and returns its faults.
func (s story) play(t *testing.T) (faults []string) {
	b := newBubble(t)
	b.limits = limits{queue: 2, waiting: 3, page: 2}
	disabled := map[domain.EndpointID]bool{}
	b.endpoint = func(id domain.EndpointID) error {
		if disabled[id] {
			return message.ErrDisabled
		}
		return nil
	}
	b.answer = func(n int, w http.ResponseWriter, r *http.Request) { s.reply(n, w, r) }
	b.start()
	planned := 0
	plan := func() {
		for i := range s.endpoints {
			b.plan(fmt.Sprintf("00000000-0000-4000-8000-%012d", planned), endpointID(i))
		}
		planned++
	}
	for range s.events {
		plan()
	}
	cuts := 0
	for _, a := range s.acts {
		pauseFor(a.after)
		synctest.Wait()
		switch a.what {
		case "stop", "crash":
			cuts++
			if a.what == "crash" {
				b.stream.set(false, true)
				pauseFor(5 * time.Second)
				b.stream.set(true, true)
			}
			b.stop()
			pauseFor(a.down)
			b.stream.set(false, false)
			b.start()
		case "rotate":
			b.rotate(a.down)
		case "disable":
			b.mu.Lock()
			disabled[endpointID(s.endpoints-1)] = true
			b.mu.Unlock()
		case "plan":
			plan()
		}
	}
	pauseFor(2 * time.Hour)
	b.stop()
	records := b.stream.decoded(t)
	if len(records) != planned*s.endpoints {
		faults = append(faults, fmt.Sprintf("%d records of %d", len(records), planned*s.endpoints))
	}
	for name, d := range records {
		faults = append(faults, wrong(d, len(b.callsTo(name)), cuts, disabled[d.Endpoint])...)
	}
	return append(faults, b.unsigned()...)
}

func endpointID(i int) domain.EndpointID {
	return domain.EndpointID(fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", i))
}

// reply answers the n-th call as the endpoint does.
func (s story) reply(n int, w http.ResponseWriter, r *http.Request) {
	answers := s.answers[0]
	for i, own := range s.answers {
		if lane, _ := laneOf(r.URL.Path[1:]); lane == "acct1."+string(endpointID(i)) {
			answers = own
		}
	}
	switch code := answers[min(n, len(answers))-1]; code {
	case answerHang:
		<-r.Context().Done()
	case answerCut:
		panic(http.ErrAbortHandler)
	default:
		w.WriteHeader(code)
	}
}

// wrong returns the faults of a delivery that is over.
func wrong(d delivery.Delivery, calls, cuts int, disabled bool) (faults []string) {
	fail := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s %s: ", d.Name(), d.Status)+fmt.Sprintf(format, args...))
	}
	n := len(d.Attempts)
	first := slices.IndexFunc(d.Attempts, func(a delivery.Attempt) bool { return a.Failure == "" })
	switch {
	case d.Status.Open():
		fail("it is open")
	case d.Status == delivery.Succeeded && first != n-1, d.Status != delivery.Succeeded && first >= 0:
		fail("success in attempt %d of %d", first+1, n)
	case d.Status == delivery.Exhausted && n != 6, n > 6:
		fail("%d attempts", n)
	case d.Status == delivery.Cancelled && !disabled:
		fail("its endpoint takes webhooks")
	case calls < n || calls > n+cuts:
		fail("%d calls, %d attempts on record, cut %d times", calls, n, cuts)
	}
	for i, a := range d.Attempts {
		if i > 0 && a.StartedAt.Before(d.Attempts[i-1].End().Add(delivery.DefaultRetryDelays()[i-1]*9/10)) {
			fail("attempt %d came early", i+1)
		}
	}
	return faults
}

// unsigned returns the calls that did not verify with exactly the secrets valid at that instant.
func (b *bubble) unsigned() (faults []string) {
	for _, c := range b.calls {
		if !slices.Equal(c.keys, c.valid) {
			faults = append(faults, fmt.Sprintf("%s at %s verified with %v, valid were %v", c.event, c.at, c.keys, c.valid))
		}
	}
	return faults
}

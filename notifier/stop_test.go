package notifier

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/notifier/message"
)

// TestStop: an attempt in flight when the notifier ends may finish, and is recorded. If it outlasts
// the grace, it is cut, stays planned, and the next start sends it.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		grace time.Duration
		then  string
	}{
		{"finishes", patience, "planned 0, succeeded 1, failed 0"},
		{"is cut", time.Millisecond, "planned 1, succeeded 0, failed 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			release := make(chan struct{})
			inbox := newReceiver(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}})
			r := newRig(t)
			r.config.Grace = c.grace
			r.start()
			r.endpoint(inbox.url + "/")
			r.pay(processor.Succeeded)
			inbox.waitFor(1)
			stopping := context.AfterFunc(r.context, func() {
				if c.grace == patience {
					close(release)
				}
			})
			defer stopping()
			r.stop()
			r.views = func(v message.Views) message.Views { return held{v, true} } // look before it is sent
			r.start()
			if got := statuses(r.records()); got != c.then {
				t.Error(got)
			}
			r.stop()
			r.views = nil
			inbox.none()
			if c.grace == patience {
				return
			}
			close(release)
			r.start()
			inbox.waitFor(1)
		})
	}
}

// flaky are views that fail at first. At the second call they record the result of Healthy.
type flaky struct {
	message.Views
	failures  chan error
	meanwhile chan error
	healthy   func() error
}

func (f flaky) Shown(ctx context.Context, aggregate string, shard int, seq uint64) error {
	select {
	case err := <-f.failures:
		return err
	default:
		select {
		case f.meanwhile <- f.healthy():
		default: // only the first time
		}
		return f.Views.Shown(ctx, aggregate, shard, seq)
	}
}

// TestOwnTrouble: a problem that keeps a webhook from being composed is no attempt: Healthy returns
// it, the notifier repeats, and the problem ends with its reason.
func TestOwnTrouble(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	down := errors.New("the views are down")
	views := flaky{failures: make(chan error, 1), meanwhile: make(chan error, 1), healthy: func() error { return r.notifier.Healthy() }}
	views.failures <- down
	r.views = func(v message.Views) message.Views { views.Views = v; return views }
	r.start()
	r.endpoint(inbox.url)
	r.pay(processor.Succeeded)
	inbox.waitFor(1)
	if err := <-views.meanwhile; !errors.Is(err, down) {
		t.Errorf("meanwhile Healthy said %v", err)
	}
	r.stop()
	if err := r.notifier.Healthy(); err != nil {
		t.Errorf("the trouble is over, Healthy says %v", err)
	}
	r.views = nil
	r.start()
	if got := statuses(r.records()); got != "planned 0, succeeded 1, failed 0" {
		t.Error(got)
	}
}

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/metrics"
	"payledger/eventstore"
)

const startLogEvery = 2 * time.Second

const (
	stageOpening = "opening the log"
	stageTips    = "bringing the tip store up to the log"
	stageViews   = "bringing the views up to the log"
)

type startProgress struct {
	log zerolog.Logger

	mu       sync.Mutex
	stage    string
	began    time.Time // of the stage
	first    uint64    // events that were done then
	done, of uint64    // events
	logged   time.Time
}

func newStartProgress(log zerolog.Logger) *startProgress {
	return &startProgress{log: log, stage: stageOpening, began: time.Now(), logged: time.Now()}
}

// at records the progress of a stage: done of of events.
func (p *startProgress) at(stage string, done, of uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.stage != stage {
		p.stage, p.began, p.first = stage, now, done
	}
	p.done, p.of = done, max(of, done)
	if now.Sub(p.logged) >= startLogEvery {
		p.logged = now
		p.log.Info().Uint64("events", p.done).Uint64("of", p.of).Float64("eventsPerSecond", p.rate(now)).Msg(p.stage)
	}
}

// rate returns the events that the stage reads per second. The caller holds the lock.
func (p *startProgress) rate(now time.Time) float64 {
	if took := now.Sub(p.began).Seconds(); took > 0 && p.done > p.first {
		return float64(int64(float64(p.done-p.first) / took))
	}
	return 0
}

func (p *startProgress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == 0 {
		return "starting: " + p.stage
	}
	text := fmt.Sprintf("starting: %s, %d of %d events (%d %%)", p.stage, p.done, p.of, p.done*100/p.of)
	if rate := p.rate(time.Now()); rate > 0 {
		left := time.Duration(float64(p.of-p.done) / rate * float64(time.Second))
		text += fmt.Sprintf(", %.0f events/s, %s left", rate, left.Round(time.Second))
	}
	return text
}

func (p *startProgress) now() metrics.Start {
	p.mu.Lock()
	defer p.mu.Unlock()
	return metrics.Start{Stage: p.stage, Done: p.done, Of: p.of}
}

func (p *startProgress) adminStarting() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics.Starting(p.now))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		now := p.now()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(map[string]any{ // the client may be gone
			"ready": false, "reason": p.String(), "stage": now.Stage, "events": now.Done, "of": now.Of,
		})
	})
	return mux
}

// awaitViews returns when the views have all events of the log. It fails if the log is found
// damaged: the views would wait for ever.
func (a *App) awaitViews(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	there := make(chan error, 1)
	go func() { there <- a.Views.CaughtUp(ctx) }()
	tick := time.NewTicker(viewsEvery)
	defer tick.Stop()
	for stands := (stall{}); ; {
		select {
		case err := <-there:
			return err
		case <-tick.C:
			done, of := a.Views.Progress()
			a.progress.at(stageViews, done, of)
			stalled := stands.at(done)
			if err := a.Ledger.Store.Healthy(); errors.Is(err, eventstore.ErrUnhealthy) && stalled { // the damage may be elsewhere
				return fmt.Errorf("%s, %d of %d events: %w; payledger verify lists all damage, and payledger restore makes a folder from a back-up", stageViews, done, of, err)
			}
		}
	}
}

const (
	viewsEvery = 200 * time.Millisecond // between two records of the views' progress during the start
	stillTicks = 10                     // of these without progress, after which damage of the log ends the start
)

// stall counts looks at a progress.
type stall struct {
	before uint64
	still  int // looks since the last progress
}

// at notes the progress, and reports whether there was none for stillTicks looks.
func (s *stall) at(done uint64) bool {
	if s.still++; done != s.before {
		s.before, s.still = done, 0
	}
	return s.still >= stillTicks
}

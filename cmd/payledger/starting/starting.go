package starting

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/metrics"
)

const startLogEvery = 2 * time.Second

// The stages of a start.
const (
	Opening = "opening the log"
	Tips    = "bringing the tip store up to the log"
	Views   = "bringing the views up to the log"
)

// Progress is how far a start is.
type Progress struct {
	log zerolog.Logger

	mu       sync.Mutex
	stage    string
	began    time.Time // of the stage
	first    uint64    // events that were done then
	done, of uint64    // events
	logged   time.Time
}

// New returns the progress of a start that begins.
func New(log zerolog.Logger) *Progress {
	return &Progress{log: log, stage: Opening, began: time.Now(), logged: time.Now()}
}

// At records the progress of a stage: done of of events.
func (p *Progress) At(stage string, done, of uint64) {
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
func (p *Progress) rate(now time.Time) float64 {
	if took := now.Sub(p.began).Seconds(); took > 0 && p.done > p.first {
		return float64(int64(float64(p.done-p.first) / took))
	}
	return 0
}

// String returns the progress as a text for people.
func (p *Progress) String() string {
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

func (p *Progress) now() metrics.Start {
	p.mu.Lock()
	defer p.mu.Unlock()
	return metrics.Start{Stage: p.stage, Done: p.done, Of: p.of}
}

// Admin serves the admin address while the service starts: the progress, and its metrics.
func (p *Progress) Admin() http.Handler {
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

// The views during a start.
const (
	ViewsEvery = 200 * time.Millisecond // between two records of the views' progress
	StillTicks = 10                     // of these without progress, after which damage of the log ends the start
)

// Stall counts looks at a progress.
type Stall struct {
	before uint64
	still  int // looks since the last progress
}

// At notes the progress, and reports whether there was none for StillTicks looks.
func (s *Stall) At(done uint64) bool {
	if s.still++; done != s.before {
		s.before, s.still = done, 0
	}
	return s.still >= StillTicks
}

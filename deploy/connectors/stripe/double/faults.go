package double

import (
	"net/http"
	"strings"
)

// Mode is what happens to a request.
type Mode string

// The modes.
const (
	LostBefore  Mode = "lost_before"  // it never arrives
	LostAfter   Mode = "lost_after"   // it is carried out, and the answer is lost
	Late        Mode = "late"         // it arrives at Flush; the client sees a cut connection
	RateLimited Mode = "rate_limited" // 429
	Unavailable Mode = "unavailable"  // 503, nothing is saved
	Fails       Mode = "fails"        // 500, saved under the key
	FailsAfter  Mode = "fails_after"  // it is carried out; 500, saved under the key
	Held        Mode = "held"         // it runs until Release is closed
	Garbage     Mode = "garbage"      // it is carried out, and the answer is no JSON
	Huge        Mode = "huge"         // it is carried out, and the answer is too large
	Changed     Mode = "changed"      // it is carried out, and Change makes another answer
	Refused     Mode = "refused"      // it fails validation: 400, nothing is saved. Change makes the answer, if any.
	Missing     Mode = "missing"      // 404: the object is not there, as for a key of another account
	Forbidden   Mode = "forbidden"    // 403: the key lacks a permission
)

// Fault is ordered for one request.
type Fault struct {
	Mode   Mode   `json:"mode"`
	Path   string `json:"path,omitempty"`   // part of the path; "": any
	Method string `json:"method,omitempty"` // "": any

	Change           func(body any) any `json:"-"` // of Changed and Refused: the JSON value
	Entered, Release chan struct{}      `json:"-"` // of Held
}

// Order orders faults: each for the first request that matches.
func (d *Double) Order(faults ...*Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, faults...)
}

// Heal removes the faults that are left.
func (d *Double) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = nil
}

// fault takes the first fault that matches a request.
func (d *Double) fault(r *http.Request) *Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, f := range d.faults {
		if strings.Contains(r.URL.Path, f.Path) && (f.Method == "" || f.Method == r.Method) {
			d.faults = append(d.faults[:i:i], d.faults[i+1:]...)
			return f
		}
	}
	return nil
}

// Flush lets the late requests arrive.
func (d *Double) Flush() {
	d.mu.Lock()
	late := d.late
	d.late = nil
	d.mu.Unlock()
	for _, arrive := range late {
		arrive()
	}
}

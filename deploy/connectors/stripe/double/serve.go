package double

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// saved is what is known under an idempotency key.
type saved struct {
	request string // endpoint and parameters
	at      time.Time
	answer  *answer // nil while the first request runs
}

// keyLife is how long a key is kept.
const keyLife = 24 * time.Hour

func (d *Double) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	w.Header().Set("Date", d.Now().UTC().Format(http.TimeFormat))
	d.calls = append(d.calls, r.Method+" "+r.URL.Path)
	w.Header().Set("Request-Id", fmt.Sprintf("req_%d", len(d.calls)))
	d.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/customer/") { // a browser
		d.mux.ServeHTTP(w, r)
		return
	}
	if key, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !is || !strings.HasPrefix(key, "sk_test_") {
		d.write(w, problem(http.StatusUnauthorized, "invalid_request_error", "", "Invalid API Key provided"))
		return
	}
	if r.Header.Get("Stripe-Version") == "" {
		d.write(w, invalid("The double wants a version."))
		return
	}
	d.mux.ServeHTTP(w, r)
}

// handle answers one request, with the fault that is ordered for it.
func (d *Double) handle(w http.ResponseWriter, r *http.Request, endpoint func(call) answer) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	if err := r.ParseForm(); err != nil {
		d.write(w, invalid("The body cannot be read."))
		return
	}
	c := call{id: r.PathValue("id"), form: r.Form}
	run := func() (answer, bool) { return d.once(r, c, endpoint) }
	fault := d.fault(r)
	if fault == nil {
		fault = &Fault{}
	}
	switch fault.Mode {
	case LostBefore:
		cut(w)
		return
	case Late:
		d.mu.Lock()
		d.late = append(d.late, func() { run() })
		d.mu.Unlock()
		cut(w)
		return
	case RateLimited:
		w.Header().Set("Retry-After", "1")
		d.write(w, problem(http.StatusTooManyRequests, "invalid_request_error", "rate_limit", "Too many requests."))
		return
	case Unavailable:
		d.write(w, problem(http.StatusServiceUnavailable, "api_error", "", "Try again later."))
		return
	case Missing:
		d.write(w, missing(c.id))
		return
	case Forbidden:
		d.write(w, problem(http.StatusForbidden, "invalid_request_error", "", "The provided key does not have the required permissions."))
		return
	case Refused:
		a := invalid("The request is refused.")
		if fault.Change != nil {
			a.body = fault.Change(a.body)
		}
		d.write(w, a)
		return
	}
	endpoint = d.around(fault, endpoint)
	a, replayed := run()
	switch fault.Mode {
	case LostAfter:
		cut(w)
		return
	case Garbage:
		a = answer{status: http.StatusOK, body: "<html>" + strings.Repeat("4242424242424242 ", 10) + "</html>"}
	case Huge:
		a = answer{status: http.StatusOK, body: `{"id":"` + strings.Repeat("x", 9<<20) + `"}`}
	case Changed:
		a.body = fault.Change(whole(a.body))
	}
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	d.write(w, a)
}

// around returns an endpoint with a fault in its run.
func (d *Double) around(fault *Fault, inner func(call) answer) func(call) answer {
	broke := problem(http.StatusInternalServerError, "api_error", "", "Something went wrong.")
	switch fault.Mode {
	case Fails:
		return func(call) answer { return broke }
	case FailsAfter:
		return func(c call) answer {
			if done := inner(c); done.unsaved {
				return done
			}
			return broke
		}
	case Held:
		return func(c call) answer { // without the account's lock: other requests go on
			d.mu.Unlock()
			close(fault.Entered)
			<-fault.Release
			d.mu.Lock()
			return inner(c)
		}
	}
	return inner
}

// once runs an endpoint under the request's idempotency key.
func (d *Double) once(r *http.Request, c call, endpoint func(call) answer) (a answer, replayed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if r.Method != http.MethodPost || key == "" {
		return copied(endpoint(c)), false
	}
	request := r.URL.Path + "?" + url.Values(r.PostForm).Encode()
	if known := d.keys[key]; known != nil && d.Now().Sub(known.at) < keyLife {
		switch {
		case known.request != request:
			return problem(http.StatusBadRequest, "idempotency_error", "", "Keys for idempotent requests can only be used with the same parameters they were first used with."), false
		case known.answer == nil:
			return problem(http.StatusConflict, "idempotency_error", "idempotency_key_in_use", "There is currently another in-progress request using this key."), false
		}
		return *known.answer, true
	}
	running := &saved{request: request, at: d.Now()}
	d.keys[key] = running
	a = copied(endpoint(c))
	if running.answer = &a; a.unsaved {
		delete(d.keys, key)
	}
	return a, false
}

// copied returns an answer that later changes of the account do not change.
func copied(a answer) answer {
	if _, is := a.body.(string); !is {
		a.body = whole(a.body)
	}
	return a
}

func whole(body any) any {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = conn.Close()
}

package webhookpages

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"payledger/domain/account"
	"payledger/httpapi/dashboard/frame"
)

type attempt struct {
	Number     int
	StartedAt  time.Time
	DurationMs int64
	StatusCode int
	Failure    string
	Manual     bool
	Excerpt    string
	Keys       []string
}

// Reason is why the attempt failed; nil: it succeeded.
func (a attempt) Reason() *reason { return reasonOf(a.Failure) }

// Withheld reports whether the answer is not kept. Its excerpt says so in place of the answer.
func (a attempt) Withheld() bool { return strings.HasPrefix(a.Excerpt, "(withheld: ") }

type signed struct{ Header, Secret string }

// Signatures returns the signatures of the attempt: those of the signing secrets (§5.2), and that
// of a listener's own secret (D18).
func (a attempt) Signatures() (all []signed) {
	for i, key := range a.Keys {
		s := signed{"X-Signature-Primary", "signing secret " + number(key)}
		switch {
		case i > 1:
			s = signed{"X-Signature-Listener", "the listener's own secret"}
		case ofListener(key):
			s = signed{"X-Signature-Secondary", "the listener's own secret"}
		case i == 1:
			s = signed{"X-Signature-Secondary", "the previous one, signing secret " + number(key)}
		}
		all = append(all, s)
	}
	return all
}

func number(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

func ofListener(key string) bool { return strings.HasPrefix(key, "listener.") }

// Listener reports whether a listener reads the webhook, or has read it before it ended.
func (d deliveryView) Listener() bool {
	if d.Endpoint != nil {
		return d.Endpoint.URL == account.ListenerURL
	}
	return slices.ContainsFunc(d.Attempts, func(a attempt) bool { return slices.ContainsFunc(a.Keys, ofListener) })
}

// delivery is a delivery with its attempts, oldest first.
type delivery struct {
	deliveryRow
	Attempts []attempt
	Body     json.RawMessage
}

type deliveryView struct {
	delivery
	Endpoint *endpoint // nil: deleted
	Resend   bool      // the user may resend it, and it can be
	Replay   string    // the address of the form that replays the webhooks since; "" for none
}

// Raw is the body as it is sent, in one line.
func (d deliveryView) Raw() string { return string(d.Body) }

func deliveryOf(v *frame.Visit) (out deliveryView, err error) {
	id := v.Request.PathValue("id")
	err = v.Get(frame.Path("management", "webhook-deliveries", id), nil, &out.delivery)
	if frame.StatusOf(err) == http.StatusNotFound {
		return out, frame.Missing("Your account has no webhook delivery with this id.", "Look at the list of webhook deliveries.")
	}
	if err != nil {
		return out, err
	}
	rows := []deliveryRow{out.deliveryRow}
	paymentsOfDisputes(v, rows)
	out.deliveryRow = rows[0]
	all, err := allEndpoints(v)
	if err != nil {
		return out, err
	}
	if e, known := named(all, out.EndpointID); known {
		out.Endpoint = &e
	}
	if out.Endpoint != nil && !v.Auditor() {
		out.Resend = !out.Dropped && out.Endpoint.Enabled
		out.Replay = frame.Address(pathReplays+"/new", frame.Query(
			"endpointId", out.EndpointID, "from", out.since().UTC().Format(localTime), "to", v.Now().UTC().Format(localTime),
		))
	}
	return out, nil
}

// since returns a time that is not after the delivery's event: the body's date, or a minute before
// the planning.
func (d delivery) since() time.Time {
	var body struct{ Date *time.Time }
	before := d.PlannedAt.Add(-time.Minute)
	if json.Unmarshal(d.Body, &body) == nil && body.Date != nil && body.Date.Before(before) {
		return *body.Date
	}
	return before
}

func show(v *frame.Visit, out deliveryView) error {
	slices.Reverse(out.Attempts) // newest first
	return v.Show(frame.Page{Name: "delivery", Title: "Webhook delivery", Nav: pathDeliveries, Live: true, Data: out})
}

const succeeded = "SUCCEEDED"

type resendForm struct {
	frame.Form
	Delivery deliveryView
}

func (f resendForm) page() frame.Page {
	return frame.Page{Name: "resend", Title: "Resend a webhook", Nav: pathDeliveries, Status: f.Status(), Data: f}
}

func askResend(v *frame.Visit, d deliveryView) error {
	return v.Show(resendForm{Form: frame.Form{Key: v.NewKey()}, Delivery: d}.page())
}

// resend makes one attempt. The form's idempotency key makes a repeat harmless.
func resend(v *frame.Visit, d deliveryView, form frame.Form) error {
	f := resendForm{Form: form, Delivery: d}
	f.Key = cmp.Or(f.Key, v.NewKey())
	if seen := form.Text("seen"); seen != "" && seen != succeeded && d.Outcome == succeeded {
		f.Refusal = frame.Refusal{Text: "The receiver has accepted the webhook since you opened this page.", Advice: "Resend it only if the receiver has to get it once more."}
		page := f.page()
		page.Status = http.StatusConflict
		return v.Show(page)
	}
	var after delivery
	sent, err := f.Send(v, http.MethodPost, frame.Path("management", "webhook-deliveries", d.ID, "resend"), nil, f.Key, &after)
	if err != nil {
		return err
	}
	if !sent {
		return v.Show(f.page())
	}
	done := "resent"
	if n := len(after.Attempts); n > 0 && after.Attempts[n-1].Failure != "" {
		done = "resent-bad"
	}
	return v.Redirect(pathDeliveries+"/"+d.ID, done)
}

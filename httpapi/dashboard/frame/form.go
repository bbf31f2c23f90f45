package frame

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"payledger/domain"
)

const formMost = 256 << 10

// Form is a form with its input, and after a refusal with the reasons.
type Form struct {
	Values url.Values
	Key    string            // the idempotency key of the request that the form makes; "" for none
	Faults map[string]string // by field
	Review bool              // the form is only to be shown again with its input: it takes no faults and sends nothing
	Refusal
}

// Refusal says why a request was refused, and what to do.
type Refusal struct {
	Text, Advice, Number string
	Unknown              bool // it is not known whether the request took effect
	Stated               bool // Text states the outcome
}

// Input reads the form of a POST. If the session had expired when it was sent, it is to be
// reviewed.
func (v *Visit) Input() (Form, error) {
	v.Request.Body = http.MaxBytesReader(v.Writer, v.Request.Body, formMost)
	if err := v.Request.ParseForm(); err != nil {
		return Form{}, &Failure{Status: http.StatusBadRequest, ID: "MalformedForm", Text: "The form could not be read whole.", Advice: "Go back and send it again."}
	}
	sent := v.Request.PostForm
	return Form{Values: sent, Key: sent.Get("key"), Faults: map[string]string{}, Review: sent.Has(ReviewField)}, nil
}

// ReviewField is the field that makes a POST show its form again instead of carrying it out.
const ReviewField = "_review"

// Text returns a field without surrounding space.
func (f Form) Text(name string) string { return strings.TrimSpace(f.Values.Get(name)) }

// Has reports whether a field has the value: of a checkbox or a list of them.
func (f Form) Has(name, value string) bool { return slices.Contains(f.Values[name], value) }

// Fault adds the reason why a field is refused.
func (f *Form) Fault(field, text string) {
	if f.Faults == nil {
		f.Faults = map[string]string{}
	}
	if f.Faults[field] == "" && !f.Review {
		f.Faults[field] = text
	}
}

// Sound reports whether nothing was refused.
func (f Form) Sound() bool { return len(f.Faults) == 0 && f.Refusal.Text == "" }

// Status returns the status of a page with the form: 200, or 422 after a refusal.
func (f Form) Status() int {
	if f.Sound() {
		return http.StatusOK
	}
	return http.StatusUnprocessableEntity
}

// Send sends the request of a sound form. sent is false if the form is not sound or to be reviewed,
// or if the API refuses: the form is to be shown with its reasons. The arguments are those of
// Visit.Send and Refused.
func (f *Form) Send(v *Visit, method, path string, body any, key string, to any, fields ...string) (sent bool, err error) {
	if f.Review || !f.Sound() {
		return false, nil
	}
	if err := v.Send(method, path, body, key, to); err != nil {
		return false, f.Refused(err, fields...)
	}
	return true, nil
}

// Refused takes the reasons of an API's error into the form, those of one of its fields to the
// field. It returns any other error.
func (f *Form) Refused(err error, fields ...string) error {
	failure, is := errors.AsType[*Failure](err)
	if !is || failure.Status == http.StatusForbidden || failure.Status == http.StatusUnauthorized {
		return err
	}
	f.Refusal = Refusal{Text: failure.Text, Advice: failure.Advice, Number: failure.Number}
	if failure.ID == string(domain.ReasonRequestValidation) && len(failure.Fields) > 0 { // else the text is about this request
		f.Refusal.Text = "Some of the input is not accepted."
	}
	switch {
	case failure.Status == http.StatusServiceUnavailable:
		f.Refusal.Stated, f.Refusal.Unknown = true, strings.Contains(failure.Text, "unknown")
	case failure.Status >= http.StatusInternalServerError || failure.Status == http.StatusAccepted:
		f.Refusal.Unknown = true
	}
	for _, fault := range failure.Fields {
		name := strings.TrimPrefix(fault.Path, "$.")
		if end := strings.IndexAny(name, "[."); end > 0 && !slices.Contains(fields, name) {
			name = name[:end]
		}
		if slices.Contains(fields, name) {
			f.Fault(name, sentence(fault.Text))
			continue
		}
		f.Refusal.Text += " " + sentence(Plainly(strings.TrimSpace(fault.Path+" "+fault.Text)))
	}
	return nil
}

// sentence makes a sentence of a description such as "must be at least 1".
func sentence(text string) string {
	if text == "" {
		return text
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

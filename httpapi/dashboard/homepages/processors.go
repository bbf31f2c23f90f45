package homepages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

// health is the state of a processor today, by all authorizations that were sent to it.
type health struct {
	Processor string
	Today     authorizations
	Rate      *float64
	Usual     *float64 // its rate on the days before
	Tone      string   // bad, warn or good; "": too few authorizations, or it takes no payments
	Off       bool     // it takes no payments of the account
	Words     string
	Why       string // the reason of a bad tone: "9 of 10 tries failed"
}

// The limits between a processor that works and one that fails.
const (
	fewDecided = 5    // authorizations, below which nothing is concluded
	badFailed  = 0.2  // failed among all decided
	warnFailed = 0.05 //
	badDrop    = 0.2  // of the rate, in points
	warnDrop   = 0.1
)

// healths returns the processors of today, the worst first and those that take no payments last.
// before are the days before today.
func healths(today *bucket, before []bucket, takes func(processor.Name) bool) (all []health) {
	usual := map[string]authorizations{}
	for i := range before {
		for _, of := range before[i].Processors {
			usual[of.Processor] = usual[of.Processor].plus(of.Authorizations)
		}
	}
	for _, of := range today.Processors {
		h := healthOf(of.Processor, of.Authorizations, usual[of.Processor].share())
		if !takes(processor.Name(of.Processor)) {
			h.Tone, h.Words, h.Why, h.Off = "", "Takes no payments", "", true
		}
		all = append(all, h)
	}
	slices.SortStableFunc(all, func(a, b health) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.failed(), a.failed()), cmp.Compare(b.drop(), a.drop()))
	})
	return all
}

// rank is the place among the processors: those with problems have the lowest.
func (h health) rank() int {
	switch {
	case h.Off:
		return 5
	case h.Tone == "bad":
		return 0
	case h.Tone == "warn":
		return 1
	case h.Tone == "" && h.Today.Failed > 0:
		return 2
	case h.Tone == "good":
		return 3
	default:
		return 4
	}
}

func (h health) failed() float64 {
	if share := ratio(h.Today.Failed, h.Today.decided()); share != nil {
		return *share
	}
	return 0
}

func (h health) drop() float64 {
	if h.Rate == nil || h.Usual == nil {
		return 0
	}
	return *h.Usual - *h.Rate
}

func healthOf(name string, today authorizations, usual *float64) health {
	h := health{Processor: name, Today: today, Rate: today.share(), Usual: usual}
	failed, drop := h.failed(), h.drop()
	switch {
	case today.decided() < fewDecided:
		h.Words = "Too few to tell"
	case failed >= badFailed:
		h.Tone, h.Words, h.Why = "bad", "Fails", fmt.Sprintf("%s of %s tries failed", frame.Number(today.Failed), frame.Number(today.decided()))
	case drop >= badDrop:
		h.Tone, h.Words = "bad", "Declines far more than before"
		h.Why = fmt.Sprintf("it approves %s, before it was %s", percentCell(h.Rate).Text, percentCell(h.Usual).Text)
	case failed >= warnFailed:
		h.Tone, h.Words = "warn", "Fails now and then"
	case drop >= warnDrop:
		h.Tone, h.Words = "warn", "Declines more than before"
	default:
		h.Tone, h.Words = "good", "Works"
	}
	return h
}

// Before is the number of days with which today is compared.
func (w *view) Before() int { return w.Count - 1 }

// Fails reports whether a processor fails today.
func (w *view) Fails() bool { return len(w.Processors) > 0 && w.Processors[0].Tone == "bad" }

// Answer returns the sentence about the processors that fail today.
func (w *view) Answer() string {
	var bad, why []string
	for _, h := range w.Processors {
		if h.Tone == "bad" {
			bad, why = append(bad, h.Processor), append(why, h.Processor+" ("+h.Why+")")
		}
	}
	switch {
	case len(w.Processors) == 0:
		return "No processor has decided anything today."
	case len(bad) == 0 && w.Processors[0].Tone == "warn": // the worst one is first
		worst := w.Processors[0]
		return "No processor fails altogether today, but " + worst.Processor + " " + strings.ToLower(worst.Words[:1]) + worst.Words[1:] + "."
	case len(bad) == 0:
		return "No processor fails today."
	case len(bad) == 1:
		return bad[0] + " fails today: " + w.Processors[0].Why + "."
	}
	return "Processors that fail today: " + join(why) + "."
}

// Failing returns the sentence about the processors that fail today; "" if none does. takes reports
// whether a processor takes payments.
func Failing(v *frame.Visit, takes func(processor.Name) bool) (string, error) {
	today := v.Now().UTC().Truncate(24 * time.Hour)
	report, err := readStatistics(v, today.AddDate(0, 0, 1-days), today, false, "")
	if err != nil {
		return "", err
	}
	last := len(report.ByDay) - 1
	w := view{Processors: healths(&report.ByDay[last], report.ByDay[:last], takes)}
	if !w.Fails() {
		return "", nil
	}
	return w.Answer(), nil
}

func join(names []string) string {
	text := names[0]
	for i, name := range names[1:] {
		if i == len(names)-2 {
			text += " and " + name
		} else {
			text += ", " + name
		}
	}
	return text
}

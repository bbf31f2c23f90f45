package router

import (
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// unfitAnswers counts answers that are none, by the minute: memory does not grow with them.
type unfitAnswers struct {
	minutes [processor.UnfitWithin / time.Minute]struct{ began, answers int64 }
	total   uint64
	last    time.Time
	reason  string
}

// maxReason bounds a reason in bytes.
const maxReason = 300

func (u *unfitAnswers) add(why string, now time.Time) {
	minute := now.Unix() / 60
	if at := &u.minutes[int(minute)%len(u.minutes)]; at.began != minute {
		at.began, at.answers = minute, 1
	} else {
		at.answers++
	}
	u.total++
	u.last, u.reason = now, domain.Beginning(why, maxReason)
}

// until returns the answers at a time. A clock that went back counts later minutes, too.
func (u *unfitAnswers) until(now time.Time) processor.UnfitAnswers {
	out := processor.UnfitAnswers{Total: u.total, Recent: u.recent(now)}
	switch out.Recent {
	case 0:
		return out
	case 1:
		out.Reason = "1 unfit answer"
	default:
		out.Reason = fmt.Sprintf("%d unfit answers", out.Recent)
	}
	out.Reason += fmt.Sprintf(" in the last %.0f minutes, the newest at %s: %s", processor.UnfitWithin.Minutes(), u.last.UTC().Format(time.RFC3339), u.reason)
	return out
}

func (u *unfitAnswers) recent(now time.Time) (n int) {
	for _, of := range u.minutes {
		if of.answers > 0 && now.Unix()/60-of.began < int64(len(u.minutes)) {
			n += int(of.answers)
		}
	}
	return n
}

// unsigned returns Connection.Unsigned of notifications that were counted like answers.
func (u *unfitAnswers) unsigned(now time.Time) string {
	n := u.recent(now)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("notifications without a valid signature in the last %.0f minutes: %d, the newest at %s; the processor may sign with another secret",
		processor.UnfitWithin.Minutes(), n, u.last.UTC().Format(time.RFC3339))
}

// Unfit takes an answer of a processor that cannot be the answer to its request, with the reason.
// The adapters give theirs; callers give those that only they can judge. The state of the
// connection stays: the processor answers.
func (r *Router) Unfit(name processor.Name, why string) {
	if h := r.health[name]; h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.unfit.add(why, r.now())
	}
}

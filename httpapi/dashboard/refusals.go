package dashboard

import (
	"errors"
	"net/http"
	"time"

	"payledger/eventstore/commands/users"
	"payledger/httpapi/dashboard/frame"
)

// statuses are the statuses of pages that show a refusal; any other reason is 401.
var statuses = map[users.Reason]int{
	users.LockedUser: http.StatusTooManyRequests, users.TooManyTries: http.StatusTooManyRequests, users.Busy: http.StatusTooManyRequests,
	users.FactorOn: http.StatusConflict, users.FactorOff: http.StatusConflict,
}

func refused(err error, now time.Time) (status int, text string, is bool) {
	r, is := errors.AsType[*users.Refusal](err)
	if !is {
		return 0, "", false
	}
	if status = statuses[r.Reason]; status == 0 {
		status = http.StatusUnauthorized
	}
	text = (&users.Refusal{Reason: r.Reason, NameOnly: r.NameOnly}).Error()
	if !r.Until.IsZero() {
		text += " Try again in " + frame.Ago(r.Until.Sub(now)+time.Second) + "."
	}
	return status, text, true
}
